"""The diagnosis on lines that were not recorded: other wordings of known kinds, and what must not be taken for one."""

import pytest

from arriero_api.reasons import REASONS
from arriero_api.scrub import scrub, secret_values
from arriero_runtime.diagnosis import UNKNOWN, Diagnosis
from arriero_runtime.diagnosis.kinds import KINDS


def reason_of(*lines: str, secrets: frozenset[str] = frozenset()) -> tuple[str, str]:
    diagnosis = Diagnosis(secrets)
    for line in lines:
        diagnosis.feed(line)
    failure = diagnosis.failure()
    assert failure is not None
    return failure.reason, failure.message


def worker(*texts: str) -> list[str]:
    return [f"(Worker_TP0 pid=7) ERROR 11-29 22:07:38 [multiproc_executor.py:953] {text}" for text in texts]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "AcceleratorMemoryTooSmall"),
        ("ValueError: No available memory for the cache blocks. Try increasing it.", "AcceleratorMemoryTooSmall"),
        (
            "ValueError: Free memory on device cuda:0 (3.1/23.7 GiB) on startup is less than desired GPU memory "
            "utilization (0.9, 21.3 GiB).",
            "AcceleratorMemoryTooSmall",
        ),
        (
            "ValueError: World size (8) is larger than the number of available GPUs (4) in this node. If this is so.",
            "InvalidArguments",
        ),
        ("OSError: [Errno 28] No space left on device: '/dev/shm/psm_1'", "SharedMemoryTooSmall"),
        ("OSError: /models/x does not appear to have a file named tokenizer.json.", "ModelIncomplete"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", UNKNOWN),
        ("RuntimeError: shape '[2, 3]' is invalid for input of size 5", UNKNOWN),
        ("KeyError: 'model.layers.0'", UNKNOWN),
    ],
)
def test_a_worker_s_error_gets_its_reason_and_no_wrong_one(line: str, reason: str) -> None:
    assert reason_of(*worker(line))[0] == reason


def test_a_load_that_took_longer_than_the_variable_allows_names_the_variable_and_what_else_bounds_it() -> None:
    line = (
        "TimeoutError: Timed out waiting for engine core processes to start. This is often caused by slow weight "
        "loading for large models. Waited 600s (configured by VLLM_ENGINE_READY_TIMEOUT_S). To increase the timeout, "
        "set the environment variable: VLLM_ENGINE_READY_TIMEOUT_S=<seconds>"
    )
    reason, message = reason_of("Traceback (most recent call last):", line)
    assert reason == "EngineFailed"
    assert "not loaded within 600 seconds, the value of VLLM_ENGINE_READY_TIMEOUT_S in spec.engine.env" in message
    assert "spec.rollout.progressDeadlineSeconds" in message


def test_an_architecture_that_is_known_is_not_called_unknown_where_the_image_lacks_a_package_for_it() -> None:
    line = "  Value error, Model architectures ['LlavaForConditionalGeneration'] failed to be inspected. Please check."
    reason, message = reason_of("pydantic_core.ValidationError: 1 validation error for ModelConfig", line)
    assert reason == "ModelUnsupported"
    assert "The image lacks what vLLM needs for the architecture 'LlavaForConditionalGeneration'" in message


def test_an_error_of_shapes_is_one_of_the_weights_only_while_weights_are_loaded() -> None:
    frame = '  File "/opt/vllm/model_executor/models/llama.py", line 7, in load_weights'
    lines = worker("Traceback (most recent call last):", frame, "KeyError: 'layers.9.w'")
    assert reason_of(*lines)[0] == "WeightsInvalid"


def test_a_worker_s_error_counts_more_than_the_engine_core_s_and_that_more_than_the_main_one_s() -> None:
    core = "(EngineCore_DP0 pid=6) ERROR 11-29 22:07:39 [core.py:1510] ValueError: No available memory for the cache"
    main = "OSError: [Errno 5] Input/output error"
    assert "CUDA error" in reason_of(*worker("RuntimeError: CUDA error: x"), core, main)[1]
    assert "No available memory" in reason_of(core, main)[1]


def test_an_error_that_the_engine_survives_is_not_the_cause() -> None:
    harmless = worker("Error saving model info cache.", "Traceback (most recent call last):", "OSError: read-only")
    other = harmless[0].replace("multiproc_executor.py:953", "core.py:1").replace("Error saving model info cache.", "")
    assert "boom" in reason_of(*harmless, f"{other}RuntimeError: boom")[1]


def test_a_log_without_an_error_gives_no_failure() -> None:
    diagnosis = Diagnosis()
    for line in ("INFO: all is well", "(Worker pid=7) WARNING 11-29 22:07:38 [a.py:1] ValueError: only a warning", ""):
        diagnosis.feed(line)
    assert diagnosis.failure() is None


def test_no_secret_is_in_the_message() -> None:
    token = "hf_" + "abcdefghijklmnop"
    line = f"OSError: got token={token} at https://u:pw@hub.example/f?X-Amz-Signature=abc with plain-secret-value"
    _, message = reason_of(line, secrets=secret_values({"MY_API_KEY": "plain-secret-value", "HOME": "/home"}))
    for secret in (token, "pw@", "Signature", "plain-secret-value"):
        assert secret not in message
    assert "hub.example" in message


def test_ordinary_words_are_not_hidden() -> None:
    text = "tokens: 5, Did you mean max_tokens? see /models/a/tokenizer.json; token=None"
    assert scrub(text) == text


def test_every_kind_has_a_reason_of_the_catalogue_and_fills_its_own_message() -> None:
    for kind in KINDS:
        assert kind.reason in REASONS
        groups = dict.fromkeys(kind.pattern.groupindex, "x")
        assert kind.message.format_map(groups)
        assert all("=" in source or source in groups for source in kind.details)


def test_code_that_is_not_run_is_told_with_the_field_that_would_let_it() -> None:
    diagnosis = Diagnosis()
    diagnosis.feed("ValueError: The repository x contains custom code which must be executed to load the model.")
    found = diagnosis.failure()
    assert found is not None
    assert found.reason == "ModelUnsupported"
    assert "spec.model.trustRemoteCode" in found.remedy
