"""An exception of the engine, as the failure that people read."""

import pytest

from arriero_api.contract import Phase
from arriero_runtime.engine.vllm.explain import explained_exception

UNKNOWN = ValueError("Unknown quantization method: fp99. Must be one of ['awq', 'fp8'].")


def test_a_quantization_of_the_flags_that_vllm_does_not_know_is_corrected_in_the_spec() -> None:
    found = explained_exception(UNKNOWN, Phase.DOWNLOADING, "fp99").failure
    assert (found.reason, found.details) == ("InvalidArguments", {"argument": "--quantization"})
    assert "fp99" in found.message
    assert "spec.engine.quantization" in found.remedy
    assert found.phase is Phase.DOWNLOADING


@pytest.mark.parametrize("asked", [None, "fp8"])
def test_a_quantization_of_the_model_that_vllm_does_not_know_is_the_model_s_fault(asked: str | None) -> None:
    found = explained_exception(UNKNOWN, Phase.DOWNLOADING, asked).failure
    assert (found.reason, found.message) == ("ModelUnsupported", "vLLM does not know quantization fp99.")
