"""Where a model comes from: `hf://org/name`, `pvc://claim/path`, `file:///path`."""

import re
from dataclasses import dataclass
from typing import Final

HF: Final = "hf"
PVC: Final = "pvc"
FILE: Final = "file"

PATTERN: Final = (
    r"^(hf://[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*"
    r"|pvc://[a-z0-9]([a-z0-9.-]*[a-z0-9])?(/[^/\s]+)*/?"
    r"|file://(/[^/\s]+)+/?)$"
)
"""The same rule in the resource's schema, which holds with the operator down."""


class UriError(ValueError):
    """A model URI that cannot be used; the text names the remedy."""


@dataclass(frozen=True, slots=True)
class ModelUri:
    """A parsed model URI.

    `location` is the repository (hf), the claim's name (pvc) or empty (file); `path` is the path inside the claim
    (no leading slash, may be empty) or the absolute path of a file URI, empty for hf.
    """

    scheme: str
    location: str
    path: str = ""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.location}" + (f"/{self.path.lstrip('/')}" if self.path else "")


def parse(uri: str) -> ModelUri:
    """Raises UriError."""
    if not re.fullmatch(PATTERN, uri):
        raise UriError(f"model URI {uri!r} is not one of hf://ORG/NAME, pvc://CLAIM/PATH, file:///PATH")
    scheme, rest = uri.split("://", 1)
    if any(part == ".." for part in rest.split("/")):
        raise UriError(f"model URI {uri!r} must not leave its volume: remove '..'")
    if scheme == HF:
        return ModelUri(HF, rest)
    if scheme == FILE:
        return ModelUri(FILE, "", rest.rstrip("/"))
    claim, _, path = rest.partition("/")
    return ModelUri(PVC, claim, path.rstrip("/"))
