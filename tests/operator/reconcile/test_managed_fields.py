"""What somebody has set of an object, by the fields that the API server counts as theirs."""

import pytest

from arriero_api import labels
from arriero_operator.applying.managed_fields import set_in, template_of
from tests.support.kubectl import Object

LIVE: Object = {
    "name": "runtime",
    "image": "i",
    "imagePullPolicy": "Always",
    "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}, {"containerPort": 1, "protocol": "TCP"}],
    "args": ["serve", "--a"],
    "resources": {"limits": {"memory": "1Gi"}},
}
OWN: Object = {".": {}, "f:name": {}, "f:image": {}}


@pytest.mark.parametrize(
    ("live", "fields", "wanted"),
    [
        ({"a": 1, "b": 2}, {"f:a": {}}, {"a": 1}),
        ({"a": 1}, {"f:a": {}, "f:gone": {}}, {"a": 1}),
        ({"a": {"x": 1, "y": 2}}, {"f:a": {".": {}, "f:x": {}}}, {"a": {"x": 1}}),
        ({"a": {"x": 1}}, {"f:a": {".": {}}}, {"a": {}}),
        ({"a": {"x": 1, "y": [1]}}, {"f:a": {}}, {"a": {"x": 1, "y": [1]}}),
        (
            {"list": [LIVE, {"name": "mesh"}]},
            {"f:list": {'k:{"name":"runtime"}': OWN}},
            {"list": [{"name": "runtime", "image": "i"}]},
        ),
        (
            LIVE,
            {"f:ports": {'k:{"containerPort":8080,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}}, "f:args": {}},
            {"ports": [{"containerPort": 8080}], "args": ["serve", "--a"]},
        ),
        ({"set": ["a", "b"]}, {"f:set": {".": {}, 'v:"b"': {}}}, {"set": ["b"]}),
        ({"set": ["a"]}, {"f:set": {".": {}}}, {"set": []}),
        ({"a/b:c": "x"}, {"f:a/b:c": {}}, {"a/b:c": "x"}),
    ],
    ids=[
        "a field",
        "one that is absent",
        "a map in part",
        "an empty map",
        "a whole",
        "an element by its name",
        "by two keys",
        "an element by its value",
        "an empty set",
        "a name with a colon",
    ],
)
def test_what_somebody_has_set_of_an_object_is_told_by_the_fields_that_are_theirs(
    live: Object, fields: Object, wanted: Object
) -> None:
    assert set_in(live, fields) == wanted


def test_a_template_whose_image_somebody_else_has_set_is_not_taken() -> None:
    def live(*fields: str) -> Object:
        own: Object = {"f:name": {}, **{name: {} for name in fields}}
        set_by_us = {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"runtime"}': own}}}}}
        entry = {"manager": labels.TEMPLATE_MANAGER, "operation": "Apply", "fieldsV1": set_by_us}
        return {"metadata": {"managedFields": [entry]}, "spec": {"template": {"spec": {"containers": [LIVE]}}}}

    assert template_of(live()) is None
    assert template_of(live("f:image")) == {"spec": {"containers": [{"name": "runtime", "image": "i"}]}}


def test_an_object_that_does_not_tell_who_has_set_what_has_no_template_to_take() -> None:
    assert template_of({"metadata": {}, "spec": {"template": {"spec": {}}}}) is None
