"""What vLLM raised or told, as a failure: by the same table that reads its log."""

import traceback
from collections.abc import Sequence
from dataclasses import replace

from arriero_api.contract import Phase
from arriero_runtime.diagnosis import Diagnosis
from arriero_runtime.failing import StartError, failure


def explained(lines: Sequence[str], phase: Phase) -> StartError:
    """The failure for lines as they would stand in the log."""
    diagnosis = Diagnosis()
    for line in lines:
        diagnosis.feed(line)
    found = diagnosis.failure()
    if found is None:
        return StartError(failure("EngineFailed", "The engine's processes did not start.", phase))
    return StartError(replace(found, phase=phase))


def explained_exception(error: BaseException, phase: Phase) -> StartError:
    """The failure for an exception of this process.

    Where the engine's own processes failed, the exception says nothing: that cause stands in their log lines, which
    the supervisor reads, so the failure is then EngineFailed.
    """
    if isinstance(error, StartError):
        return error
    text = "".join(traceback.format_exception(error))
    return explained(text.splitlines(), phase)
