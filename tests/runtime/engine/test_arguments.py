"""What vLLM's own parser says of its flags."""

from argparse import Namespace

import pytest

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
