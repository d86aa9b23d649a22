"""The claim that is made for a model's cache: one for all of its pods, whichever revision they are of."""

from typing import Any, Final

from arriero_api.spec.cache import ClaimTemplate
from arriero_operator.render import names
from arriero_operator.render.children import metadata
from arriero_operator.render.owner import Owner

DEFAULT_MODES: Final = ("ReadWriteOnce",)
"""What every class of storage has."""

Json = dict[str, Any]


def cache_claim(owner: Owner, template: ClaimTemplate) -> Json:
    """The PersistentVolumeClaim. It is the model's own, and goes with it."""
    spec: Json = {
        "accessModes": list(template.access_modes or DEFAULT_MODES),
        "resources": {"requests": {"storage": str(template.size)}},
    }
    if template.storage_class_name is not None:
        spec["storageClassName"] = template.storage_class_name
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(owner, names.cache_claim(owner.name)),
        "spec": spec,
    }
