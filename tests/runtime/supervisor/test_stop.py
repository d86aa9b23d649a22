"""SIGTERM ends the container cleanly at every moment, within a bound."""

import subprocess
import time
from pathlib import Path

from arriero_api import pod
from arriero_api.contract import Shutdown
from tests.runtime.supervisor.conftest import Starter
from tests.runtime.supervisor.harness import Supervised, until

NOTHING = Shutdown().to_json()


def assert_clean(supervised: Supervised, told: str = NOTHING) -> None:
    """It ends as asked and says how its requests ended, where it is known."""
    assert supervised.ended() == 0
    assert supervised.message() == told


def test_a_ready_server_is_drained_and_its_counts_are_logged(start: Starter) -> None:
    supervised = start("drains")
    supervised.until_ready()
    supervised.stop()
    assert_clean(supervised, Shutdown(3, 1).to_json())
    assert "arriero-runtime: stopped: 3 requests completed, 1 aborted\n" in supervised.text()


def test_a_stop_right_after_the_first_probe_is_not_lost(start: Starter) -> None:
    supervised = start("drains")
    until(lambda: supervised.get("/livez")[0], "livez")
    supervised.stop()
    assert supervised.ended() == 0
    assert supervised.message() in (NOTHING, Shutdown(3, 1).to_json())


def test_a_stop_before_python_itself_is_up_is_not_lost(start: Starter) -> None:
    supervised = start("loads_for_ever")
    supervised.until_hears()
    supervised.stop()
    assert_clean(supervised)


def test_a_server_that_still_starts_and_does_not_listen_is_killed_in_time(start: Starter) -> None:
    supervised = start("loads_for_ever", stop_starting=0.5)
    until(lambda: (status := supervised.status()) and status.progress.percent == 40, "loading")
    below = supervised.below()
    stopped = time.monotonic()
    supervised.stop()
    assert_clean(supervised)
    assert time.monotonic() - stopped < 5
    assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]


def test_a_failure_that_the_server_has_left_behind_is_no_reason_of_its_end(start: Starter) -> None:
    supervised = start("has_left_a_failure_behind", stop_starting=0.5)
    until(lambda: (status := supervised.status()) and status.progress.message == "free", "empty again")
    told = supervised.status()
    assert told is not None
    assert told.failure is not None
    supervised.stop()
    assert_clean(supervised)


def test_a_log_that_nobody_reads_does_not_hold_up_the_end_beyond_the_grace_period(start: Starter) -> None:
    supervised = start("floods_its_log", stdout=subprocess.PIPE, stop_engine=0.5, last_words=60)
    supervised.until_ready()
    stopped = time.monotonic()
    supervised.stop()
    assert_clean(supervised)
    assert time.monotonic() - stopped < 1 + 0.5 + pod.GRACE_MARGIN_SECONDS
    assert supervised.process.stdout is not None
    supervised.process.stdout.close()


def test_a_server_that_ignores_the_drain_is_killed_in_time_and_not_ready_meanwhile(start: Starter) -> None:
    supervised = start("refuses_to_drain", stop_engine=1)
    supervised.until_ready()
    stopped = time.monotonic()
    supervised.stop()
    until(lambda: supervised.get("/readyz") == (503, "Draining\n"), "not ready")
    assert supervised.get("/livez")[0] == 200
    assert_clean(supervised, "")
    assert time.monotonic() - stopped < 8
