"""Whose an object is.

Three questions, as three things depend on the answer:

- `names_model`: whom it tells of itself to belong to, by name. Such a model is woken; where that is wrong it costs a
  look, and it is all that is left to say of the children of a model that is gone.
- `Owner.owns`: whether the very model made it: its controller, by uid. What is wanted no more is removed by this alone,
  as what labels say is copied with an object.
- `Owner.may_have`: whether it may be brought into the model's wanted state: what it owns, and what nobody controls and
  says that it is its own, as children do that were left behind when a model of the name was deleted alone. What
  `Owner.follows` tells goes by itself, and is waited for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arriero_api import labels

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Owner:
    """The model that children belong to."""

    namespace: str
    name: str
    uid: str
    operator_class: str = labels.DEFAULT_CLASS

    def reference(self) -> Json:
        """A controller reference that blocks no deletion."""
        return {
            "apiVersion": labels.API_VERSION,
            "kind": labels.KIND,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
        }

    def owns(self, obj: Mapping[str, Any]) -> bool:
        """Whether the model made the object."""
        found = _controller(obj)
        return found is not None and found["uid"] == self.uid

    def may_have(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object is the model's, or becomes it where it is wanted."""
        if _controller(obj) is not None:
            return self.owns(obj)
        return is_labelled(obj) and _annotated(obj) == self.name

    def follows(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object is of another model of this name: a deleted one, with which it goes."""
        found = _controller(obj)
        return found is not None and found["uid"] != self.uid and _model(found) == self.name


def names_model(obj: Mapping[str, Any]) -> str:
    """The model that an object tells of: by annotation, as pods do too, else by its controller; empty: of none."""
    return _annotated(obj) or _model(_controller(obj))


def is_labelled(obj: Mapping[str, Any]) -> bool:
    """Whether the object passes for an operator's: the label by which children and pods are watched."""
    return bool((obj["metadata"].get("labels") or {}).get(labels.MANAGED_BY) == labels.MANAGED_BY_VALUE)


def _annotated(obj: Mapping[str, Any]) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(labels.OWNER, ""))


def _controller(obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((one for one in obj["metadata"].get("ownerReferences") or () if one.get("controller")), None)


def _model(controller: Mapping[str, Any] | None) -> str:
    """The name of the controller where that is an InferenceModel of ours: others have a kind of this name too."""
    if controller is None or controller["kind"] != labels.KIND:
        return ""
    return str(controller["name"]) if controller["apiVersion"].partition("/")[0] == labels.GROUP else ""
