"""Which InferenceModel an object belongs to."""

from arriero_api import labels
from arriero_operator.keys import Key
from arriero_operator.kube.protocol import MODELS, Kind, Object


def key_of(kind: Kind, obj: Object) -> Key | None:
    """The model's own key, or that of a child's model: by annotation, else by the controlling owner; None: nobody's."""
    metadata = obj["metadata"]
    namespace = metadata["namespace"]
    if kind is MODELS:
        return (namespace, metadata["name"])
    if name := metadata.get("annotations", {}).get(labels.OWNER):
        return (namespace, name)
    for owner in metadata.get("ownerReferences", ()):
        group = owner["apiVersion"].partition("/")[0]
        if owner.get("controller") and owner["kind"] == labels.KIND and group == labels.GROUP:
            return (namespace, owner["name"])
    return None
