"""What an end means, case by case."""

from dataclasses import replace

import pytest

from arriero_runtime.diagnosis import make_failure
from arriero_runtime.supervisor.ending import End, meaning

EXIT_0 = 0
EXIT_1 = 1 << 8
KILLED = 9
START = End(EXIT_1, stopping=False, was_ready=False)
SERVED = replace(START, was_ready=True)
VAGUE = make_failure("EngineFailed", "The engine's processes did not start.")
DEAD = make_failure("EngineDied", "The engine's process has ended.")
KNOWN = make_failure("SharedMemoryTooSmall", "160 MiB needed")
UNKNOWN = make_failure("EngineFailed", "RuntimeError: boom")
HUNG = make_failure("EngineHung", "no step")


@pytest.mark.parametrize(
    ("end", "reason", "words"),
    [
        (replace(START, failed=VAGUE, told=KNOWN), "SharedMemoryTooSmall", "160 MiB"),
        (replace(START, failed=DEAD, told=KNOWN), "SharedMemoryTooSmall", "160 MiB"),
        (replace(START, failed=VAGUE, told=UNKNOWN), "EngineFailed", "boom"),
        (replace(START, failed=VAGUE), "EngineFailed", "did not start"),
        (replace(START, failed=KNOWN, told=UNKNOWN, out_of_memory=True), "SharedMemoryTooSmall", "160 MiB"),
        (replace(START, told=KNOWN), "SharedMemoryTooSmall", "160 MiB"),
        (replace(START, wait_status=EXIT_0), "EngineFailed", "exit code 0"),
        (replace(START, wait_status=KILLED), "EngineFailed", "SIGKILL"),
        (replace(START, wait_status=KILLED, out_of_memory=True), "OOMKilled", "SIGKILL"),
        (replace(SERVED, wait_status=EXIT_0), "EngineDied", "exit code 0"),
        (replace(SERVED, failed=DEAD, told=UNKNOWN), "EngineDied", "has ended: RuntimeError: boom"),
        (replace(SERVED, failed=DEAD, out_of_memory=True), "OOMKilled", "memory"),
        (replace(SERVED, complaint=HUNG, wait_status=KILLED, told=KNOWN), "EngineHung", "no step"),
        (replace(SERVED, failed=DEAD, stopping=True), "EngineDied", "has ended"),
    ],
)
def test_an_end_gets_its_reason(end: End, reason: str, words: str) -> None:
    failure = meaning(end)
    assert failure is not None
    assert failure.reason == reason
    assert words in failure.message
    assert failure.remedy


@pytest.mark.parametrize("status", [EXIT_0, EXIT_1, KILLED, None])
@pytest.mark.parametrize("was_ready", [False, True])
def test_a_stop_that_was_asked_for_is_no_failure_however_the_server_ends(status: int | None, was_ready: bool) -> None:
    assert meaning(End(status, stopping=True, was_ready=was_ready, told=UNKNOWN)) is None
