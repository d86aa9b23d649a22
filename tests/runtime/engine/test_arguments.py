"""What vLLM's own parser says of its flags."""

from argparse import Namespace

import pytest

from arriero_runtime.engine.vllm import meant
from arriero_runtime.engine.vllm.arguments import flag_before_variable, unusable


@pytest.mark.parametrize(("flag", "left"), [(20_000_000, {}), (None, {"VLLM_CPU_KVCACHE_SPACE": "1"})])
def test_the_flag_for_the_kv_cache_goes_before_the_profiles_variable(flag: int | None, left: dict[str, str]) -> None:
    environment = {"VLLM_CPU_KVCACHE_SPACE": "1"}
    flag_before_variable(Namespace(kv_cache_memory_bytes=flag), environment)
    assert environment == left


def test_an_error_of_several_lines_is_told_with_flag_and_words() -> None:
    message = (
        "argument --some-config: 1 validation error for SomeConfig\n  Value error, this needs that. [type=value_error]"
    )
    found = unusable(message).failure
    assert found.reason == "InvalidArguments"
    assert "--some-config" in found.message and "this needs that" in found.message


FLAGS = ("-h", "--max-model-len", "--max-num-batched-tokens", "--block-size", "--port", "--no-async-scheduling")


@pytest.mark.parametrize(
    ("words", "question"),
    [
        ("--blok-size=16", "Did you mean --block-size?"),
        ("--block_sise 16", "Did you mean --block-size?"),
        ("--blok-size=1 --no-async-schedulng", "Did you mean --block-size, --no-async-scheduling?"),
        ("--max-modle-len=512", "Did you mean --max-model-len (use spec.engine.maxModelLen)?"),
        ("--prot=1", "Did you mean --port (Arriero sets it for every pod; remove it)?"),
        ("--nothing-like-it", ""),
    ],
    ids=["one", "with underlines", "two", "one that has a field", "one that cannot be set", "none is like it"],
)
def test_a_misspelt_flag_is_told_with_the_one_that_was_meant(words: str, question: str) -> None:
    found = unusable(f"unrecognized arguments: {words}", FLAGS).failure
    assert found.reason == "InvalidArguments"
    assert words.split("=")[0].split()[0] in found.message
    assert found.message.endswith(question)
    assert ("Did you mean" in found.message) is bool(question)


def test_a_flag_with_a_wrong_value_is_not_taken_for_a_misspelt_one() -> None:
    found = unusable("argument --dtype: invalid choice: 'flaot16'", FLAGS).failure
    assert "Did you mean" not in found.message


@pytest.mark.parametrize(
    ("what", "field"), [("tool call", "spec.engine.toolCallParser"), ("reasoning", "spec.engine.reasoningParser")]
)
def test_an_unknown_parser_is_told_with_its_field_and_the_names_there_are(what: str, field: str) -> None:
    told = meant.parser(f"invalid {what} parser: hremes (chose from {{ granite,hermes,mistral }})")
    assert told.startswith(f"{field}: vLLM has no {what} parser 'hremes'. Did you mean hermes?")
    assert told.endswith("It has: granite, hermes, mistral.")
    assert "Did you" not in meant.parser(f"invalid {what} parser: zzz (chose from {{ granite,hermes }})")


def test_other_words_of_vllm_stay_as_they_are() -> None:
    assert meant.parser("--a requires --b") == "--a requires --b"
