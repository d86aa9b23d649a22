"""When the status is written, and which Events a step of it stands for."""

import pytest

from arriero_operator.decide.report import steady
from arriero_operator.reconcile import events
from tests.support.kubectl import Object


def told(reason: str, state: str = "False", wanted: str = "r1", replicas: int = 1, **names: str) -> Object:
    """A status with a Ready condition; `names` are states by name."""
    return {
        "observedGeneration": 1,
        "replicas": replicas,
        "model": {"wanted": wanted},
        "names": [{"name": name, "kind": "Alias", "state": value} for name, value in names.items()],
        "conditions": [{"type": "Ready", "status": state, "reason": reason, "message": "m", "lastTransitionTime": "t"}],
    }


DRAINING = {"progress": {"phase": "Draining"}}
STEPS: dict[str, tuple[Object, Object, list[str]]] = {
    "a start": ({}, told("Scheduling"), []),
    "a name is served": (told("Loading", a="Registering"), told("Ready", "True", a="Registered"), ["Registered"]),
    "a name is gone": (told("Ready", "True", a="Unregistering"), told("Ready", "True"), ["Unregistered"]),
    "a failure": (told("Loading"), told("OOMKilled"), ["OOMKilled"]),
    "the same failure": (told("OOMKilled"), told("OOMKilled"), []),
    "another failure": (told("OOMKilled"), told("ImagePullFailed"), ["ImagePullFailed"]),
    "a new revision": (told("Ready", "True"), told("RollingOut", wanted="r2"), ["RolloutStarted"]),
    "scaled to zero": (told("Ready", "True"), told("ScaledToZero", "True") | DRAINING, ["ShutdownStarted"]),
    "drained": (
        told("ScaledToZero", "True") | DRAINING,
        told("ScaledToZero", "True", replicas=0),
        ["ShutdownComplete"],
    ),
    "nothing": (told("Ready", "True", a="Registered"), told("Ready", "True", a="Registered"), []),
}


@pytest.mark.parametrize(("before", "after", "reasons"), STEPS.values(), ids=STEPS)
def test_events_of(before: Object, after: Object, reasons: list[str]) -> None:
    assert [event.reason for event in events.derive(before, after)] == reasons


@pytest.mark.parametrize(
    ("generation", "message", "told_again"), [(1, "m", False), (1, "n", False), (2, "m", False), (2, "n", True)]
)
def test_another_failure_of_the_same_reason_is_told_where_another_spec_has_it(
    generation: int, message: str, told_again: bool
) -> None:
    before, after = (told("EngineFlagOwned") | {"observedGeneration": 1} for _ in range(2))
    (ready,) = after["conditions"]
    after |= {"observedGeneration": generation, "conditions": [{**ready, "message": message}]}
    assert [event.message for event in events.derive(before, after)] == ([message] if told_again else [])


def test_what_happens_again_after_a_retry_is_told_again() -> None:
    before, after = told("RollingOut") | {"model": {"wanted": "b"}}, told("ModelNotFound")
    given_up = {"type": "UpToDate", "status": "False", "reason": "RolledBack", "message": "m"}
    after |= {"conditions": [*after["conditions"], given_up], "model": {"wanted": "b", "lastGood": "a"}}
    first, same, second = (events.derive(before, after, retry=word) for word in ("", "", "1"))
    assert [event.reason for event in first] == ["RolledBack", "ModelNotFound"]
    assert first[0].message == "From revision b back to a, because of ModelNotFound."
    assert first[0].message != first[1].message
    assert first == same
    assert not set(first) & set(second)


def status(phase: str = "", percent: int | None = None, **other: object) -> Object:
    """A status that says little but its progress."""
    progress = {"phase": phase} | ({} if percent is None else {"percent": percent})
    return dict(other) | ({"progress": progress} if phase else {})


def said(words: str) -> Object:
    """All has been fetched, and something is said of it."""
    return {"progress": {"phase": "Downloading", "percent": 100, "message": words}}


CALM: dict[str, tuple[Object, Object, float, bool]] = {
    "the first progress": (status("Downloading", 0), status(), 0, True),
    "another phase": (status("Loading"), status("Downloading", 99), 0, True),
    "a good step": (status("Downloading", 30), status("Downloading", 10), 3, True),
    "a small step": (status("Downloading", 12), status("Downloading", 10), 3, False),
    "the last byte": (status("Downloading", 100), status("Downloading", 94), 3, True),
    "another word after it": (said("checking"), said("257 of 257 MiB, 9 MiB/s"), 3, True),
    "the same word again": (said("checking"), said("checking"), 3, False),
    "a good step too soon": (status("Downloading", 30), status("Downloading", 10), 1, False),
    "the end": (status(), status("Warming"), 0, True),
    "something else": (status("Downloading", 12, replicas=2), status("Downloading", 10, replicas=1), 0, True),
}


@pytest.mark.parametrize(("new", "before", "since", "written"), CALM.values(), ids=CALM)
def test_progress_is_written_for(new: Object, before: Object, since: float, written: bool) -> None:
    assert steady(new, before, since) == (new if written else before)


def test_lists_in_another_order_are_nothing_new() -> None:
    names = [{"name": "a", "state": "Registering"}, {"name": "b", "state": "Registering"}]
    conditions = [{"type": "Ready", "status": "False"}, {"type": "Accepted", "status": "True"}]
    before = status("Downloading", 10, names=names[::-1], conditions=conditions[::-1])
    new = status("Downloading", 12, names=names, conditions=conditions)
    assert steady(new, before, 0)["progress"] == before["progress"]
    assert (
        steady(status("Downloading", 12, names=names[:1], conditions=conditions), before, 0)["progress"]["percent"]
        == 12
    )


def test_a_whole_start_stays_below_twenty_writes() -> None:
    steps = [status("Scheduling"), status("StartingContainer"), status("Resolving")]
    steps += [status("Downloading", percent) for percent in range(101)]
    steps += [status("Loading", percent) for percent in range(101)]
    steps += [status("Warming"), status()]
    writes, stands = 0, status()
    for step in steps:
        new = steady(step, stands, 10)
        writes += new != stands
        stands = new
    assert writes < 20
