"""Calls in the text of an answer: every format is read, and what is none stays text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arriero_runtime.native.formats.reading import read
from arriero_runtime.native.formats.written import FORMATS, literal, written

OFFERED = frozenset({"f", "g", "get-weather", "brave_search"})
names = st.sampled_from(["f", "g", "get-weather"])
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.floats(-1e9, 1e9), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)
keys = st.sampled_from(["a", "place", "days", "x_1"])
calls = st.lists(st.tuples(names, st.dictionaries(keys, values, max_size=3)), min_size=1, max_size=3)


def around(texts: list[str], form: str) -> str:
    return f"[{', '.join(texts)}]" if form == "python_list" else "\n".join(texts)


@given(calls, st.sampled_from(FORMATS))
def test_what_is_written_is_read_back(found: list[tuple[str, dict[str, Any]]], form: str) -> None:
    text = around([written(name, arguments, form) for name, arguments in found], form)
    assert read(text, OFFERED, tagged=False) == ("", found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('[f(a="x)y", b=[1, {"c": True}])]', [("f", {"a": "x)y", "b": [1, {"c": True}]})]),
        ("[f(a=1), g(b=2)]", [("f", {"a": 1}), ("g", {"b": 2})]),
        ("[f(a=1e3, b=null, c=false, d=None, e=-2)]", [("f", {"a": 1e3, "b": None, "c": False, "d": None, "e": -2})]),
        ("[f(d={'k': True, 'l': 'it''s'})]", [("f", {"d": {"k": True, "l": "its"}})]),
        ('[get-weather(a="get-weather(here)")]', [("get-weather", {"a": "get-weather(here)"})]),
        ("[f()]", [("f", {})]),
        ('{"type": "function", "function": {"name": "f", "parameters": {"a": 1}}}', [("f", {"a": 1})]),
        ('{"name": "f", "arguments": "{\\"a\\": 1}"}', [("f", {"a": 1})]),
        ('{"name": "f", "parameters": null}', [("f", {})]),
        ('{"name": "f", "parameters": {}}; {"name": "g", "parameters": {}}', [("f", {}), ("g", {})]),
        ('[{"name": "f", "parameters": {"a": "<function=g>"}}]', [("f", {"a": "<function=g>"})]),
        ('<function=f>{"a": {"b": 1}}</function>', [("f", {"a": {"b": 1}})]),
        ('<function=f>{"a": "</function>"}', [("f", {"a": "</function>"})]),
        ('brave_search.call(query="a \\"b\\"")', [("brave_search", {"query": 'a "b"'})]),
        (' [f(a=1)] ', [("f", {"a": 1})]),
    ],
)  # fmt: skip
def test_calls_of_all_kinds_are_read(text: str, found: list[tuple[str, dict[str, Any]]]) -> None:
    assert read(text, OFFERED, tagged=False) == ("", found)


@pytest.mark.parametrize(
    "text",
    [
        "[see (note)]",
        "[f(1)]",
        "[f(**a)]",
        "[f(a=b)]",
        "[f(a=1), b]",
        "[f(a=1), f(",
        "[f(a=1, a=2)]",
        "[f(a=f())]",
        "[1, 2]",
        "[]",
        "{}",
        '{"name": "f"}',
        '{"name": 5, "parameters": {}}',
        '{"name": "f", "parameters": [1]}',
        '{"name": "f", "parameters": {"a": NaN}}',
        '{"name": "f", "parameters": {"a": 1',
        '{"name": "f", "parameters": {}} and more',
        '<function=f>{"a": 1',
        "<function=f>{'a': 1}</function>",
        "<function=>{}</function>",
        'x.call(query="a")',
        'I would brave_search.call(query="a")',
        "[rm(a=1)]",
        '{"name": "rm", "parameters": {}}',
        "[" * 5000,
        "[f(a=" + "-" * 5000 + "1)]",
        "plain words",
        "",
    ],
)
def test_what_is_no_call_of_an_offered_tool_stays_text(text: str) -> None:
    assert read(text, OFFERED, tagged=False) == (text, [])


@given(st.text(alphabet='[]{}()"=,<>/ .:-fg1ntucio', max_size=40))
def test_no_text_breaks_the_reader_nor_makes_a_call_of_an_unknown_tool(text: str) -> None:
    before, found = read(text, OFFERED, tagged=False)
    assert any(name in OFFERED for name, _ in found) or (before == text and not found)


def test_words_may_stand_before_a_tag() -> None:
    text = 'Let me see. <function=f>{"a": 1}</function>'
    assert read(text, OFFERED, tagged=False) == ("Let me see. ", [("f", {"a": 1})])


def test_a_tagged_text_is_code_where_code_is_offered() -> None:
    assert read("print(1)", OFFERED | {"code_interpreter"}, tagged=True) == (
        "",
        [("code_interpreter", {"code": "print(1)"})],
    )
    assert read("print(1)", OFFERED, tagged=True) == ("print(1)", [])
    assert read('brave_search.call(query="x")', OFFERED | {"code_interpreter"}, tagged=True)[1] == [
        ("brave_search", {"query": "x"})
    ]


@given(values)
def test_a_literal_is_pythons(value: Any) -> None:
    assert eval(literal(value), {"__builtins__": {}}) == value


@given(st.dictionaries(keys, values, max_size=2))
def test_arguments_that_are_read_can_be_sent_as_json(arguments: dict[str, Any]) -> None:
    _, found = read(f"[{written('f', arguments, 'python_list')}]", OFFERED, tagged=False)
    assert json.loads(json.dumps(found[0][1], allow_nan=False)) == arguments
