"""What is served: spec.model."""

from typing import Annotated

from pydantic import Field

from arriero_api.schema import Schema, ServedName, matching, ruled
from arriero_api.spec.credentials import FETCHED_RULE, HUB_RULE, Credentials, source


class Model(Schema):
    """What is served, and under which names."""

    uri: Annotated[str, Field(min_length=1, max_length=512)] = Field(
        description=(
            "Where the model comes from: hf://ORG/NAME (a repository of the Hugging Face hub or of the hub that the "
            "chart names), s3://BUCKET/PATH, gs://BUCKET/PATH or az://CONTAINER/PATH (a folder of an object store), "
            "https://HOST/PATH (a folder of a web server, or an archive: .tar, .tar.gz, .tgz, .zip), "
            "oci://REGISTRY/IMAGE:TAG (an image, mounted as a volume), pvc://CLAIM/PATH (a folder on a "
            "PersistentVolumeClaim of the namespace), file:///PATH (a folder of the runtime image), or a name of Llama "
            "Stack such as Llama3.2-3B-Instruct, which stands for its hf repository. Changing it rolls out new pods."
        ),
        json_schema_extra=source("spec.model.uri"),
    )
    revision: (
        Annotated[
            str,
            Field(
                min_length=1,
                max_length=256,
                json_schema_extra=matching(
                    "^[A-Za-z0-9_][A-Za-z0-9._/-]*$",
                    "spec.model.revision must be a branch, tag or commit: letters, digits and . _ / - only, not . / - first",
                ),
            ),
        ]
        | None
    ) = Field(
        default=None,
        description=(
            "Branch, tag or commit of an hf:// repository; default: its main branch. All pods of a revision serve the "
            "commit that the first one resolved."
        ),
    )
    credentials: Credentials | None = Field(
        default=None, description="As whom the source is asked: hf, s3, gs, az and https; default: as nobody."
    )
    name: ServedName | None = Field(
        default=None,
        description="Name that clients put into 'model'; default: metadata.name. Changed without a restart.",
    )
    aliases: (
        Annotated[list[ServedName], Field(max_length=32, json_schema_extra={"x-kubernetes-list-type": "set"})] | None
    ) = Field(default=None, description="Further names that clients may use. Changed without a restart.")
    trust_remote_code: bool | None = Field(
        default=None,
        description=(
            "Run the Python code that the model brings along, which some models need: it can do whatever the pod may do. Look at it "
            "first, and pin spec.model.revision to a commit. Default: no."
        ),
    )

    model_config = ruled(
        {
            "rule": f"!has(self.revision) || {HUB_RULE}",
            "message": "spec.model.revision is for hf:// models only: remove it, or put the revision into the path",
        },
        {
            "rule": f"!has(self.credentials) || {FETCHED_RULE}",
            "message": "spec.model.credentials are for hf, s3, gs, az and https models only: remove them",
        },
    )
