"""What an answer is held to where a tool must be called."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from arriero_runtime.native.formats.forced import constraint
from tests.cluster.images import environment
from tests.cluster.images.paths import CHECKOUT

FUNCTION: dict[str, Any] = {
    "name": "get-weather",
    "description": "x",
    "parameters": {
        "type": "object",
        "properties": {
            "place": {"type": "string"},
            "days": {"type": "integer"},
            "hours": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["place"],
    },
}
BARE = {"name": "now", "parameters": {"type": "object", "properties": {}}}


def test_json_calls_are_held_to_the_schemas_of_their_arguments() -> None:
    [one, two] = constraint([FUNCTION, BARE], "json")["json"]["anyOf"]
    assert one["properties"]["parameters"]["properties"] == FUNCTION["parameters"]["properties"]
    assert one["required"] == ["type", "name", "parameters"]
    assert two["properties"]["name"] == {"const": "now"}


@pytest.mark.parametrize(
    ("form", "rule"),
    [
        (
            "python_list",
            'f0 ::= "get-weather(" "place=" text (", " "days=" int)? (", " "hours=" ("[" (int (", " int)*)? "]"))? ")"',
        ),
        (
            "function_tag",
            'f0 ::= "<function=get-weather>{" "\\"place\\": " text (", " "\\"days\\": " int)? '
            '(", " "\\"hours\\": " ("[" (int (", " int)*)? "]"))? "}</function>"',
        ),
    ],
)
def test_other_calls_have_each_argument_once_in_order_and_of_its_type(form: str, rule: str) -> None:
    assert rule in constraint([FUNCTION], form)["grammar"].splitlines()


def test_arguments_that_are_all_optional_may_be_left_out() -> None:
    function = {
        "name": "f",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}},
    }
    grammar = constraint([function, BARE], "python_list")["grammar"]
    assert 'f0 ::= "f(" ("a=" int (", " "b=" bool)? | "b=" bool)? ")"' in grammar
    assert 'f1 ::= "now(" ")"' in grammar


def test_an_argument_of_which_the_values_are_told_has_one_of_them() -> None:
    schema = {
        "type": "object",
        "properties": {"on": {"type": "boolean", "enum": [True, "é", None]}},
        "required": ["on"],
    }
    function = {"name": "f", "parameters": schema}
    assert 'f0 ::= "f(" "on=" ("True" | "\\"é\\"" | "None") ")"' in constraint([function], "python_list")["grammar"]
    assert '"\\"on\\": " ("true" | "\\"é\\"" | "null")' in constraint([function], "function_tag")["grammar"]


@pytest.mark.parametrize("form", ["python_list", "function_tag"])
def test_lists_in_lists_make_no_long_grammar(form: str) -> None:
    schema: dict[str, Any] = {"type": "string", "enum": ["x" * 100]}
    for _ in range(50):
        schema = {"type": "array", "items": schema}
    function = {"name": "f", "parameters": {"type": "object", "properties": {"a": schema}, "required": ["a"]}}
    assert len(constraint([function], form)["grammar"]) < 1_000


@pytest.mark.full
def test_the_engine_takes_every_grammar_and_its_answers_are_read() -> None:
    """In a process with the engine's packages: the grammars accept what the reader reads, and nothing else."""
    program = Path(__file__).with_name("grammars.py")
    folders = (environment.runtime(), CHECKOUT / "crds", CHECKOUT / "runtime", CHECKOUT)
    done = subprocess.run(
        [environment.PYTHON, program],
        env=environment.python_with(*folders),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
