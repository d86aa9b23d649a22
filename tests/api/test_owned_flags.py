"""Flags that Arriero sets itself are found in every spelling that the engine's parser knows."""

import pytest

from arriero_api.owned_flags import OWNED_FLAGS, refused


@pytest.mark.parametrize(
    "args",
    [
        ["--max-model-len", "4096"],
        ["--max-model-len=4096"],
        ["--max_model_len=4096"],
        ["--kv-cache-dtype", "fp8", "--MAX-MODEL-LEN=1"],
    ],
)
def test_every_spelling_of_an_owned_flag_is_refused_with_the_field_to_use(args: list[str]) -> None:
    assert refused(args) == [("--max-model-len", "use spec.engine.maxModelLen")]


def test_the_negated_form_of_an_owned_switch_is_refused_too() -> None:
    assert refused(["--no-enforce-eager"]) == [("--enforce-eager", "use spec.engine.enforceEager")]


def test_flags_of_the_engine_alone_pass() -> None:
    assert refused(["--kv-cache-dtype=fp8", "-tp", "2", "--seed", "7", "model"]) == []


def test_values_that_look_like_names_of_owned_flags_pass() -> None:
    assert refused(["--quantization", "dtype"]) == []


def test_every_owned_flag_tells_what_to_do() -> None:
    assert all(len(remedy) > 10 for remedy in OWNED_FLAGS.values())
