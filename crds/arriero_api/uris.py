"""Where a model comes from: a hub, an object store, a web server, an image, a claim or a folder."""

import re
from dataclasses import dataclass
from typing import Final

from arriero_api.llama_names import REPOSITORIES

HF: Final = "hf"
S3: Final = "s3"
GS: Final = "gs"
AZ: Final = "az"
HTTPS: Final = "https"
OCI: Final = "oci"
PVC: Final = "pvc"
FILE: Final = "file"

STORES: Final = (S3, GS, AZ)
"""Object stores: they list a prefix."""
FETCHED: Final = (HF, *STORES, HTTPS)
"""What is copied into the cache volume, maybe with credentials; the others are read in place."""
MOUNTED: Final = (PVC, OCI)
"""What lies on a volume of the pod."""

_BUCKET: Final = r"[a-z0-9$][a-z0-9._-]{1,220}[a-z0-9]"
_PATH: Final = r"(/[^/\s]+)*/?"
_IMAGE: Final = (
    r"[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+"
    r"(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?"
)
PATTERN: Final = (
    r"^(hf://[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*"
    rf"|(s3|gs|az)://{_BUCKET}{_PATH}"
    r"|https://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[^/\s?#]+)+/?"
    rf"|oci://{_IMAGE}"
    rf"|pvc://[a-z0-9]([a-z0-9.-]*[a-z0-9])?{_PATH}"
    r"|file://(/[^/\s]+)+/?)$"
)
"""The same rule in the resource's schema, which holds with the operator down."""
HUB_PAGE: Final = r"^https://(?i:(www\.)?(huggingface\.co|hf\.co))(:[0-9]{1,5})?/"
FILES: Final = "/resolve/"
"""Pages of the public hub are no folders of a web server; what has this in its path are a repository's files."""
_PAGE_REMEDY: Final = "is a page of the hub, not a folder of a web server: write hf://ORG/NAME"
PAGE_RULE: Final = {"rule": f"!self.matches(r'{HUB_PAGE}') || self.contains('{FILES}')", "message": _PAGE_REMEDY}
"""A rule of a URI; before `message` goes the field's name."""
FORMS: Final = (
    "hf://ORG/NAME, s3://BUCKET/PATH, gs://BUCKET/PATH, az://CONTAINER/PATH, https://HOST/PATH, "
    "oci://REGISTRY/IMAGE:TAG, pvc://CLAIM/PATH, file:///PATH"
)
"""What may stand there, for people."""


class UriError(ValueError):
    """A model URI that cannot be used; the text names the remedy."""


@dataclass(frozen=True, slots=True)
class ModelUri:
    """A parsed model URI.

    `location` is the repository (hf), bucket or container, host and port (https), image (oci), claim (pvc) or nothing.
    `path` is the path inside of it without slashes at its ends, maybe empty; of a file URI it is absolute.
    """

    scheme: str
    location: str
    path: str = ""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.location}" + (f"/{self.path.lstrip('/')}" if self.path else "")


def parse(uri: str) -> ModelUri:
    """The parts of a URI, or of the repository that a Llama Stack name stands for. Raises UriError."""
    if uri in REPOSITORIES:
        return ModelUri(HF, REPOSITORIES[uri])
    if not re.fullmatch(PATTERN, uri):
        raise UriError(
            f"model URI {uri!r} is not one of {FORMS}, nor a name of Llama Stack such as Llama3.2-3B-Instruct"
        )
    if re.match(HUB_PAGE, uri) and FILES not in uri:
        raise UriError(f"model URI {uri!r} {_PAGE_REMEDY}")
    scheme, rest = uri.split("://", 1)
    if any(part == ".." for part in rest.split("/")):
        raise UriError(f"model URI {uri!r} must not leave its volume: remove '..'")
    if scheme in (HF, OCI):
        return ModelUri(scheme, rest)
    if scheme == FILE:
        return ModelUri(FILE, "", rest.rstrip("/"))
    location, _, path = rest.partition("/")
    return ModelUri(scheme, location, path.rstrip("/"))
