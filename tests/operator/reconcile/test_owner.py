"""Whose an object is: what wakes a model, what it may bring into its wanted state, what it may remove."""

import pytest

from arriero_api import labels
from arriero_operator.kube.protocol import Object
from arriero_operator.render.owner import Json, Owner, names_model

OWNER = Owner("team", "tiny", "uid-1")
MARKED = {"labels": {labels.MANAGED_BY: labels.MANAGED_BY_VALUE}, "annotations": {labels.OWNER: "tiny"}}


def by(uid: str, **other: object) -> Json:
    """Metadata with a reference to the controller."""
    return {"ownerReferences": [OWNER.reference() | {"uid": uid} | other]}


MINE = ("owns", "may_have")
ANSWERS: dict[str, tuple[Object, str, tuple[str, ...]]] = {
    "its own": (MARKED | by("uid-1"), "tiny", MINE),
    "its own, of which the labels are lost": (by("uid-1"), "tiny", MINE),
    "of a deleted model of the name": (MARKED | by("uid-0"), "tiny", ("follows",)),
    "left behind by one": (MARKED, "tiny", ("may_have",)),
    "left behind by another model": (MARKED | {"annotations": {labels.OWNER: "other"}}, "other", ()),
    "of another model": (by("uid-2", name="other"), "other", ()),
    "that only says so": ({"annotations": {labels.OWNER: "tiny"}}, "tiny", ()),
    "of an InferenceModel of another group": (by("uid-2", apiVersion="inference.networking.x-k8s.io/v1"), "", ()),
    "of a Deployment": (by("uid-2", apiVersion="apps/v1", kind="Deployment"), "", ()),
    "of another controller, with its labels": (MARKED | by("uid-2", kind="Other"), "tiny", ()),
    "that is to go with it, of nobody": (by("uid-1", controller=False), "", ()),
    "that is to go with it, of another controller": (
        {"ownerReferences": [OWNER.reference() | {"controller": False}, *by("x", kind="Other")["ownerReferences"]]},
        "",
        (),
    ),
    "that says nothing": ({}, "", ()),
}


@pytest.mark.parametrize(("metadata", "named", "answers"), ANSWERS.values(), ids=ANSWERS)
def test_an_object(metadata: Object, named: str, answers: tuple[str, ...]) -> None:
    obj = {"metadata": metadata}
    assert names_model(obj) == named
    found = {"owns": OWNER.owns(obj), "may_have": OWNER.may_have(obj), "follows": OWNER.follows(obj)}
    assert found == {name: name in answers for name in found}
