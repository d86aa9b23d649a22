"""What vLLM raised or told, as a failure: by the same table that reads its log."""

import re
import traceback
from collections.abc import Sequence
from dataclasses import replace

from arriero_api.contract import Phase
from arriero_runtime.diagnosis import Diagnosis
from arriero_runtime.diagnosis.kinds import UNKNOWN_QUANTIZATION
from arriero_runtime.failing import StartError, failure, start_error


def explained(lines: Sequence[str], phase: Phase) -> StartError:
    """The failure for lines as they would stand in the log."""
    diagnosis = Diagnosis()
    for line in lines:
        diagnosis.feed(line)
    found = diagnosis.failure()
    if found is None:
        return StartError(failure("EngineFailed", "The engine's processes did not start.", phase))
    return StartError(replace(found, phase=phase))


def explained_exception(error: BaseException, phase: Phase, quantization: str | None = None) -> StartError:
    """The failure for an exception of this process; `quantization` is what the flags ask for.

    Where the engine's own processes failed, the exception says nothing: that cause stands in their log lines, which
    the supervisor reads, so the failure is then EngineFailed.
    """
    if isinstance(error, StartError):
        return error
    text = "".join(traceback.format_exception(error))
    unknown = re.search(UNKNOWN_QUANTIZATION, text)
    if unknown and unknown["what"] == quantization:
        return start_error(
            "InvalidArguments",
            f"--quantization {quantization}: vLLM does not know it.",
            phase,
            remedy="Correct spec.engine.quantization, or leave it out: the model's configuration says what it needs.",
            details={"argument": "--quantization"},
        )
    return explained(text.splitlines(), phase)
