"""What many objects have in common is kept once."""

import json
from typing import Any

import pytest

from arriero_operator import texts
from arriero_operator.cache import Cache
from arriero_operator.kube.parsing import parsed
from arriero_operator.kube.protocol import MODELS
from arriero_operator.texts import Texts
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
