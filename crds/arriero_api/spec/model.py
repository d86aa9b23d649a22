"""What is served: spec.model."""

from typing import Annotated

from pydantic import Field

from arriero_api.schema import Schema, ServedName, matching, ruled, rules
from arriero_api.uris import PATTERN


class Model(Schema):
    """What is served, and under which names."""

    uri: Annotated[str, Field(min_length=1, max_length=512)] = Field(
        description=(
            "Where the model comes from: hf://ORG/NAME (a repository of the Hugging Face hub or of the hub that the "
            "chart names), pvc://CLAIM/PATH (a folder on a PersistentVolumeClaim of the namespace) or file:///PATH (a "
            "folder of the image). Changing it rolls out new pods."
        ),
        json_schema_extra=rules(
            {
                "rule": f"self.matches(r'{PATTERN}')",
                "message": "spec.model.uri must be hf://ORG/NAME, pvc://CLAIM/PATH or file:///PATH",
            },
            {
                "rule": "!self.contains('/../') && !self.endsWith('/..')",
                "message": "spec.model.uri must not leave its volume: remove '..'",
            },
        ),
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
    name: ServedName | None = Field(
        default=None,
        description="Name that clients put into 'model'; default: metadata.name. Changed without a restart.",
    )
    aliases: (
        Annotated[list[ServedName], Field(max_length=32, json_schema_extra={"x-kubernetes-list-type": "set"})] | None
    ) = Field(default=None, description="Further names that clients may use. Changed without a restart.")

    model_config = ruled(
        {
            "rule": "!has(self.revision) || self.uri.startsWith('hf://')",
            "message": "spec.model.revision is for hf:// models only: remove it, or put the revision into the path",
        }
    )
