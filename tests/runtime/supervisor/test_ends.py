"""Every end of the server leaves a termination message that says why."""

import time
from pathlib import Path

import pytest

from arriero_runtime.supervisor import exitcodes
from tests.runtime.supervisor.conftest import Starter
from tests.runtime.supervisor.harness import until


@pytest.mark.parametrize(
    ("scenario", "reason", "words", "code"),
    [
        ("names_its_failure", "ModelNotFound", "The hub has no acme/tiny", exitcodes.PERMANENT),
        ("lingers_after_its_failure", "SourceUnreachable", "no answer", exitcodes.TRANSIENT),
        ("tells_in_its_log", "InvalidArguments", "--max-modl-len", exitcodes.PERMANENT),
        ("says_unknown_but_logs_the_cause", "SharedMemoryTooSmall", "160 MiB", exitcodes.PERMANENT),
        ("ends_without_a_word", "EngineFailed", "exit code 5", exitcodes.UNKNOWN),
    ],
)
def test_a_start_that_fails_says_why(start: Starter, scenario: str, reason: str, words: str, code: int) -> None:
    supervised = start(scenario, last_words=1)
    assert supervised.ended() == code
    failure = supervised.failure()
    assert failure is not None
    assert failure.reason == reason
    assert words in failure.message
    assert failure.remedy
    assert failure.phase in ("Resolving", "Loading")
    assert f"arriero-runtime: {reason}: " in supervised.text()


@pytest.mark.parametrize(
    ("scenario", "words"),
    [("ends_while_ready", "exit code 0"), ("killed_while_ready", "SIGKILL")],
)
def test_an_end_that_nobody_asked_for_is_a_death_even_with_exit_code_0(
    start: Starter, scenario: str, words: str
) -> None:
    supervised = start(scenario)
    supervised.until_ready()
    supervised.open_gate()
    assert supervised.ended() == exitcodes.DIED
    failure = supervised.failure()
    assert failure is not None
    assert failure.reason == "EngineDied"
    assert words in failure.message


def test_a_kill_for_memory_is_told_as_such(start: Starter, tmp_path: Path) -> None:
    events = tmp_path / "memory.events"
    events.write_text("low 0\noom 4\noom_kill 4\n")
    supervised = start("killed_while_loading", memory_events=str(events))
    with supervised.gate():
        events.write_text("low 0\noom 5\noom_kill 5\n")
    supervised.ended()
    failure = supervised.failure()
    assert failure is not None
    assert failure.reason == "OOMKilled"


def test_what_the_server_says_of_its_failure_is_passed_on_with_its_details(start: Starter) -> None:
    supervised = start("names_its_failure")
    supervised.ended()
    failure = supervised.failure()
    assert failure is not None
    assert failure.details == {"repository": "acme/tiny"}
    assert failure.phase == "Resolving"


def test_what_the_server_says_of_its_failure_leaves_without_secrets(
    start: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "s3cr3t-v4lue")
    supervised = start("tells_a_secret")
    with supervised.gate():
        until(lambda: (found := supervised.status()) and found.failure, "the failure")
        status = supervised.status()
    supervised.ended()
    assert status is not None
    for failure in (status.failure, supervised.failure()):
        assert failure is not None
        assert "[hidden]" in failure.message
        assert "[hidden]" in failure.remedy
        assert "s3cr3t" not in failure.to_json()
    assert "s3cr3t" not in supervised.text()


def test_an_engine_that_makes_no_step_is_ended_as_hung(start: Starter) -> None:
    """Also where the server does not hear that it is to give up."""
    supervised = start("stops_stepping", hang=1, last_words=0.5)
    supervised.until_ready()
    supervised.open_gate()
    assert supervised.ended() == exitcodes.HUNG
    failure = supervised.failure()
    assert failure is not None
    assert failure.reason == "EngineHung"
    assert "no step" in failure.message


def test_a_server_whose_engine_hangs_has_time_for_its_last_words(start: Starter) -> None:
    supervised = start("gives_up", hang=1, last_words=60)
    supervised.until_ready()
    supervised.open_gate()
    until(lambda: supervised.get("/readyz") == (503, "Failed: EngineHung\n"), "hung")
    with supervised.gate():
        assert supervised.get("/livez")[0] == 200
        status = supervised.status()
        assert status is not None
        assert status.failure is not None
        assert status.failure.reason == "EngineHung"
    assert supervised.ended() == exitcodes.HUNG
    failure = supervised.failure()
    assert failure is not None
    assert failure.reason == "EngineHung"


def test_a_stop_while_a_server_gives_up_hurries_it_and_keeps_the_reason(start: Starter) -> None:
    supervised = start("gives_up", hang=1, last_words=60, stop_starting=0.5)
    supervised.until_ready()
    supervised.open_gate()
    until(lambda: supervised.get("/readyz")[0] == 503, "hung")
    with supervised.gate():
        stopped = time.monotonic()
        supervised.stop()
        assert supervised.ended() == exitcodes.HUNG
        assert time.monotonic() - stopped < 5
    failure = supervised.failure()
    assert failure is not None
    assert failure.reason == "EngineHung"


def test_a_server_that_falls_silent_is_ended_as_hung(start: Starter) -> None:
    supervised = start("falls_silent", silence=1.5)
    supervised.until_ready()
    supervised.open_gate()
    assert supervised.ended() == exitcodes.HUNG
    failure = supervised.failure()
    assert failure is not None
    assert failure.reason == "EngineHung"


@pytest.mark.parametrize("how", ["end", "kill", "hang", "fail", "drain"])
def test_nothing_outlives_the_supervisor_however_the_server_ends(start: Starter, how: str) -> None:
    supervised = start("leaves_grandchildren", silence=1.5)
    supervised.until_ready()
    below = supervised.below()
    assert len(below) == 3
    supervised.open_gate(how)
    if how == "drain":
        supervised.stop()
    supervised.ended()
    assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]


def test_a_command_line_that_cannot_be_used_names_the_argument(start: Starter) -> None:
    supervised = start("drains", args="--drain-secnds 3")
    assert supervised.ended() == exitcodes.USAGE
    failure = supervised.failure()
    assert failure is not None
    assert failure.reason == "RuntimeExited"
    assert "--drain-secnds" in failure.message


def test_a_server_that_cannot_be_started_is_told(start: Starter) -> None:
    supervised = start("drains", command=["/nowhere/python"])
    assert supervised.ended() == exitcodes.BROKEN
    failure = supervised.failure()
    assert failure is not None
    assert failure.reason == "RuntimeExited"
    assert "/nowhere/python" in failure.message
