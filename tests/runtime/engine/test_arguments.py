"""What vLLM's own parser says of its flags."""

from arriero_runtime.engine.vllm.arguments import unusable


def test_an_error_of_several_lines_is_told_with_flag_and_words() -> None:
    message = (
        "argument --some-config: 1 validation error for SomeConfig\n  Value error, this needs that. [type=value_error]"
    )
    found = unusable(message).failure
    assert found.reason == "InvalidArguments"
    assert "--some-config" in found.message and "this needs that" in found.message
