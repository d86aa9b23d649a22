"""What it means that the API server refuses an object of a model. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from arriero_api.contract import Failure
from arriero_operator.diagnose.failures import failure
from arriero_operator.pods.written import Written

DENIED: Final = "ChildDenied"
FAILED: Final = "ApiServerFailed"

_NO_SOURCE: Final = ("must specify a volume type", ".image: field not declared in schema")
"""A server that does not know volumes of images drops what it does not know, and finds a volume of nothing."""


def refused(where: str, message: str, intent: Mapping[str, Any]) -> Failure:
    """`where` names the object, `intent` is what was sent, `message` the API server's words."""
    if _has_image_volume(intent) and any(words in message for words in _NO_SOURCE):
        return failure("OciVolumesUnsupported", f"the API server knows no image volumes: {message}")
    words = Written((intent.get("spec") or {}).get("template") or {}).words(message)
    return failure("ChildRefused", f"{where}: {words}")


def hindered(where: str, message: str, *, denied: bool) -> Failure:
    """What the API server would not do for now. `where` names what was asked for; `denied`: by a policy or a right."""
    return failure(DENIED if denied else FAILED, f"{where}: {message}" if where else message)


def _has_image_volume(intent: Mapping[str, Any]) -> bool:
    spec = (intent.get("spec") or {}).get("template", {}).get("spec", {})
    return any("image" in volume for volume in spec.get("volumes") or ())
