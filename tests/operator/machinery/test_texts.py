"""What many objects have in common is kept once."""

import json
from typing import Any

import pytest

from arriero_operator.cache import texts
from arriero_operator.cache.store import Cache
from arriero_operator.cache.texts import Texts
from arriero_operator.kube.parsing import parsed, without_managers, written
from arriero_operator.kube.protocol import MODELS
from tests.operator.machinery.objects import make


def _parsed(**values: Any) -> Any:
    """As a parser makes it: with text of its own."""
    return json.loads(json.dumps(values))


def test_a_copy_is_equal_whatever_the_value_is() -> None:
    value = _parsed(a=[1, 2.5, True, None, "", {"b": "text"}], c={}, d=[])
    assert Texts().shared(value) == value


def test_equal_text_of_two_objects_is_one() -> None:
    common = Texts()
    one, other = (common.shared(_parsed(pullPolicy="IfNotPresent")) for _ in range(2))
    assert one["pullPolicy"] is other["pullPolicy"]
    assert next(iter(one)) is next(iter(other))


def test_what_one_object_says_often_is_kept_once_and_no_longer_than_it() -> None:
    common = Texts()
    for number in range(2 * texts._COMMON):
        common.shared(_parsed(uid=f"uid-{number}"))
    kept = common.shared(_parsed(name="model-1", label="model-1"))
    assert kept["name"] is kept["label"]
    assert len(common._common) == texts._COMMON


def test_cached_models_share_their_text() -> None:
    cache = Cache()
    for name in ("a", "b"):
        cache.put(MODELS, _parsed(**make(MODELS, name, 5)))
    one, other = cache.get(MODELS, "team", "a"), cache.get(MODELS, "team", "b")
    assert one is not None
    assert other is not None
    assert one["kind"] is other["kind"]


def test_what_the_api_server_says_shares_its_short_texts() -> None:
    one, other = (parsed(b'{"pullPolicy": "IfNotPresent"}') for _ in range(2))
    assert one["pullPolicy"] is other["pullPolicy"]
    assert next(iter(one)) is next(iter(other))


@pytest.mark.parametrize("text", ['"\\ud800"', "[" * 300 + "]" * 300, "1" * 400], ids=["half a sign", "deep", "long"])
def test_whatever_pythons_own_parser_reads_is_read(text: str) -> None:
    assert parsed(text.encode()) == json.loads(text)


def test_what_is_no_json_is_an_error() -> None:
    with pytest.raises(ValueError, match="line 1"):
        parsed(b"<html>")


def _managed(key: str, **last: str) -> dict[str, Any]:
    entries = [{"manager": "kubectl", "fieldsV1": {"f:spec": {key: {}}}, **last}]
    return {
        "type": "MODIFIED",
        "object": {
            "metadata": {"name": "a", "managedFields": entries, "annotations": {"b": "]}"}},
            "spec": {"list": [{"c": {}}], "text": ',"managedFields":[{}]'},
        },
    }


@pytest.mark.parametrize("last", [{}, {"subresource": "status"}], ids=["spec", "status"])
def test_who_has_set_which_field_is_left_out_and_nothing_else(last: dict[str, str]) -> None:
    value = _managed('k:{"name":"main"}', **last)
    text = json.dumps(value, separators=(",", ":")).encode()
    del value["object"]["metadata"]["managedFields"]
    assert without_managers(text) == value


@pytest.mark.parametrize(
    "key", ['k:{"name":"}]"}', 'k:{"name":"}],"}', 'v:"[{}]"', "f:}]}}}", 'f:}],"x":1', 'f:}]},"spec":{}}}']
)
def test_a_text_that_looks_like_the_end_of_it_changes_no_other_field(key: str) -> None:
    value = _managed(key)
    found = without_managers(json.dumps(value, separators=(",", ":")).encode())
    for event in (value, found):
        event["object"]["metadata"].pop("managedFields", None)
    assert found == value


@pytest.mark.parametrize("text", ['{"metadata":{"name":"a"}}', '{"a":1,"managedFields":[{', "[1]", '"\\ud800"'])
def test_what_has_no_such_part_is_read_as_it_is(text: str) -> None:
    try:
        wanted = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError):
            without_managers(text.encode())
    else:
        assert without_managers(text.encode()) == wanted


@pytest.mark.parametrize("value", ["plain", 'ü \u2028 "', "\ud800 half a sign", 1.5, None, True, [], {"a": ["b", {}]}])
def test_what_is_written_reads_as_what_was_meant(value: Any) -> None:
    assert json.loads(written({"value": value})) == {"value": value}
