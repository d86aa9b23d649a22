"""Names and labels of a model's children, which follow from its name and a revision's hash alone."""

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from arriero_api import labels

_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_STEM_LENGTH: Final = 50
_HASH_LENGTH: Final = 10
HTTP: Final = 80


@lru_cache(1_024)
def stem(model: str) -> str:
    """What the children of `model` are named by: a DNS-1035 label of at most 50 characters.

    The model's own name where it is one, else its readable part and a hash of the whole.
    """
    if len(model) <= _STEM_LENGTH and _LABEL.fullmatch(model):
        return model
    digest = hashlib.sha256(model.encode()).hexdigest()[:_HASH_LENGTH]
    readable = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")
    if not readable[:1].isalpha():
        readable = f"m-{readable}"
    return f"{readable[: _STEM_LENGTH - _HASH_LENGTH - 1].strip('-')}-{digest}"


def revisioned(model: str, revision: str) -> str:
    """Name of the ControllerRevision and of the ConfigMap of one revision."""
    return f"{stem(model)}-{revision}"


def cache_claim(model: str) -> str:
    """Name of the claim that is made for the model's cache."""
    return f"{stem(model)}-cache"


def url(service: str, namespace: str, port: int = HTTP) -> str:
    """Where clients in the cluster reach the model of this Service."""
    return f"http://{service}.{namespace}.svc" + (f":{port}" if port != HTTP else "")


def selector(model: str) -> dict[str, str]:
    """Labels that select the model's pods."""
    return {labels.MODEL: stem(model)}


def child_labels(model: str, revision: str = "", operator_class: str = labels.DEFAULT_CLASS) -> dict[str, str]:
    """Labels of a child; with `revision` those of one that belongs to a revision."""
    found = {labels.MANAGED_BY: labels.MANAGED_BY_VALUE, labels.MODEL: stem(model)}
    if operator_class != labels.DEFAULT_CLASS:
        found[labels.OPERATOR_CLASS] = operator_class
    return found | ({labels.REVISION: revision} if revision else {})


def revision_of(obj: Mapping[str, Any]) -> str:
    """The revision that a child, a pod or a pod template says it belongs to, by hash; empty: none."""
    return str((obj["metadata"].get("labels") or {}).get(labels.REVISION, ""))


def child_annotations(model: str) -> dict[str, str]:
    """Annotations of every child and pod."""
    return {labels.OWNER: model}
