"""A failure that a retry cannot mend is not hammered."""

from datetime import UTC, datetime

import pytest

from arriero_api.contract import Failure, Phase
from arriero_runtime.supervisor.memory import asked_seconds, wait_seconds
from tests.runtime.supervisor.conftest import Starter
from tests.runtime.supervisor.harness import until


def test_the_first_time_it_ends_at_once_and_the_second_time_it_waits_and_explains(start: Starter) -> None:
    port_args = "--port 18080"
    first = start("names_its_failure", args=port_args, first_wait=600, longest_wait=600)
    first.ended()
    second = start("names_its_failure", args=port_args, port=first.port, first_wait=600, longest_wait=600)
    until(lambda: "a retry cannot mend this" in second.text(), "waiting")
    status = second.status()
    assert status is not None
    assert status.phase is Phase.FAILED
    assert status.failure is not None
    assert status.failure.reason == "ModelNotFound"
    assert second.get("/livez")[0] == 200
    assert second.get("/readyz") == (503, "Failed: ModelNotFound\n")
    assert "\narriero_runtime_restarts_total 1.0\n" in second.get("/metrics")[1]
    second.stop()
    second.ended()
    failure = second.failure()
    assert failure is not None
    assert failure.reason == "ModelNotFound"


def test_after_the_wait_it_ends_to_be_tried_anew(start: Starter) -> None:
    first = start("names_its_failure")
    first.ended()
    second = start("names_its_failure", port=first.port, first_wait=0.2, longest_wait=0.2)
    assert second.ended() == first.process.returncode
    assert "a retry cannot mend this" in second.text()


def test_each_container_waits_twice_as_long_as_the_one_before(start: Starter) -> None:
    port = start("names_its_failure", first_wait=1, longest_wait=4)
    port.ended()
    for wait in (1, 2, 4):
        after = start("names_its_failure", port=port.port, first_wait=1, longest_wait=4)
        until(lambda: "a retry cannot mend this" in after.text(), "waiting")  # noqa: B023 asked before the next is made
        assert f"the next one is in {wait} s" in after.text()
        after.stop()
        after.ended()


def test_other_arguments_are_tried_at_once(start: Starter) -> None:
    first = start("names_its_failure")
    first.ended()
    second = start("names_its_failure", port=first.port, args="--revision other", first_wait=600, longest_wait=600)
    second.ended()
    assert "a retry cannot mend this" not in second.text()


def test_a_failure_that_a_retry_may_mend_is_never_waited_for(start: Starter) -> None:
    for _ in range(2):
        supervised = start("lingers_after_its_failure", last_words=0.2, first_wait=600, longest_wait=600)
        supervised.ended()
        assert "a retry cannot mend this" not in supervised.text()


def test_a_source_that_asks_to_wait_is_not_asked_again_before_and_the_state_says_until_when(start: Starter) -> None:
    asked = start("is_asked_to_wait")
    until(lambda: "the source asks to wait: the next one is in 600 s" in asked.text(), "waiting")
    status = asked.status()
    assert status is not None
    assert status.phase is Phase.FAILED
    assert status.failure is not None
    at = str(status.failure.details["retryAt"])
    assert status.failure.message == f"The hub takes no further request (429). The next try is at {at}."
    left = (datetime.fromisoformat(at) - datetime.now(UTC)).total_seconds()
    assert 500 < left <= 600
    assert asked.get("/livez")[0] == 200
    assert asked.get("/readyz") == (503, "Failed: SourceRateLimited\n")
    asked.stop()
    asked.ended()
    failure = asked.failure()
    assert failure is not None
    assert (failure.reason, failure.details["retryAfterSeconds"]) == ("SourceRateLimited", 600)


def test_a_source_that_asks_for_too_long_is_asked_again_after_the_longest_wait(start: Starter) -> None:
    for _ in range(2):
        asked = start("is_asked_to_wait", longest_asked=0.2)
        asked.ended()
        assert "the source asks to wait: the next one is in 0 s" in asked.text()


@pytest.mark.parametrize(
    ("details", "seconds"),
    [
        ({}, 0),
        ({"retryAfterSeconds": 16}, 16),
        ({"retryAfterSeconds": 10**9}, 900),
        ({"retryAfterSeconds": 10**310}, 900),
    ]
    + [({"retryAfterSeconds": odd}, 0) for odd in (0, -5, "soon")],
)
def test_a_wait_that_is_asked_for_is_kept_up_to_a_bound(details: dict[str, str | int], seconds: float) -> None:
    assert asked_seconds(Failure("SourceRateLimited", "", "", details=details), 900) == seconds


def test_waits_double_from_one_to_thirty_minutes() -> None:
    assert [wait_seconds(seen, 60, 1800) for seen in (0, 1, 2, 3, 6, 7, 100)] == [0, 60, 120, 240, 1800, 1800, 1800]
