"""Which model an object wakes, and which operator that is for. Whose it is: `render.owner`."""

from arriero_api import labels
from arriero_operator.kube.protocol import MODELS, Kind, Object
from arriero_operator.render.owner import names_model
from arriero_operator.work.keys import Key


def key_of(kind: Kind, obj: Object) -> Key | None:
    """The model's own key, or that of the model that a child or pod tells of; None: of none."""
    metadata = obj["metadata"]
    name = metadata["name"] if kind is MODELS else names_model(obj)
    return (metadata["namespace"], name) if name else None


def class_of(kind: Kind, obj: Object) -> str:
    """The class of the operator that the object is for: spec.operatorClass of a model, a label of its children."""
    if kind is MODELS:
        return str(obj.get("spec", {}).get("operatorClass") or labels.DEFAULT_CLASS)
    return str(obj["metadata"].get("labels", {}).get(labels.OPERATOR_CLASS) or labels.DEFAULT_CLASS)


def selector(operator_class: str) -> str:
    """Label selector of the children of all models of that class."""
    label = labels.OPERATOR_CLASS
    mine = f"!{label}" if operator_class == labels.DEFAULT_CLASS else f"{label}={operator_class}"
    return f"{labels.MANAGED_BY}={labels.MANAGED_BY_VALUE},{mine}"
