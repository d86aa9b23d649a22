"""The table of conditions, read as kstatus reads them."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arriero_api.conditions import CONDITIONS
from arriero_api.reasons import REASONS
from arriero_operator.decide.conditions import Verdict, conditions
from arriero_operator.decide.situation import NameState, Situation
from arriero_operator.decide.status import Described, status
from arriero_operator.diagnose.failures import failure
from tests.operator.reconcile.made import KILLED, NEW, NOT_FOUND, OLD, REFUSED, pod, ready, situation

CONFLICT = NameState("chat", "Alias", "Conflict", 0, "'chat' is held by the model 'first' of this namespace.")
REGISTERING = NameState("chat", "Alias", "Registering", 0)

CASES: dict[str, tuple[dict[str, Any], str, dict[str, str]]] = {
    "a first start is in progress": (
        {"pods": [pod()]},
        "InProgress",
        {"Accepted": "True", "Ready": "False/Loading", "Available": "False/NoReadyReplica", "UpToDate": "True"},
    ),
    "a ready model is current": (
        {"pods": [ready()]},
        "Current",
        {
            "Ready": "True/Ready",
            "Available": "True",
            "EngineReady": "True",
            "NamesRegistered": "True",
            "Scheduled": "True",
        },
    ),
    "scaled to zero is ready and not available": (
        {"replicas": 0},
        "Current",
        {"Ready": "True/ScaledToZero", "Available": "False/ScaledToZero"},
    ),
    "a refused model has failed": (
        {"refused": REFUSED, "wanted": ""},
        "Failed",
        {"Accepted": "False/ProfileUnknown", "Ready": "False/ProfileUnknown", "Available": "False", "Stalled": "True"},
    ),
    "a refused change leaves the old pods available": (
        {"refused": REFUSED, "wanted": NEW, "pods": [ready()]},
        "Failed",
        {"Ready": "False/ProfileUnknown", "Available": "True", "UpToDate": "False/ProfileUnknown"},
    ),
    "a failure that no retry mends has failed": (
        {"failure": NOT_FOUND, "pods": [pod()]},
        "Failed",
        {"Ready": "False/ModelNotFound", "EngineReady": "False/ModelNotFound", "Stalled": "True/ModelNotFound"},
    ),
    "a failure that is tried again is in progress": (
        {"failure": KILLED, "pods": [pod()]},
        "InProgress",
        {"Ready": "False/OOMKilled", "Reconciling": "True/OOMKilled"},
    ),
    "a changed model that rolls out is available and in progress": (
        {"pods": [ready("a", OLD), pod("b")]},
        "InProgress",
        {"Ready": "False/RollingOut", "Available": "True", "UpToDate": "False/RollingOut", "Reconciling": "True"},
    ),
    "a changed model that fails is available and has failed": (
        {"pods": [ready("a", OLD), pod("b")], "failure": NOT_FOUND},
        "Failed",
        {"Ready": "False/ModelNotFound", "Available": "True", "UpToDate": "False"},
    ),
    "one of two replicas is available and not ready": (
        {"replicas": 2, "pods": [ready("a"), pod("b")]},
        "InProgress",
        {"Ready": "False/Loading", "Available": "True", "EngineReady": "False"},
    ),
    "a name of another model is withheld and the rest is served": (
        {"pods": [ready()], "names": [CONFLICT]},
        "Failed",
        {"Ready": "False/NameConflict", "NamesRegistered": "False/NameConflict", "Available": "True"},
    ),
    "a model of which no name is left has failed": (
        {"refused": failure("NameConflict", "no name is left"), "wanted": ""},
        "Failed",
        {"Accepted": "False/NameConflict", "Stalled": "True/NameConflict"},
    ),
    "a name that another model is giving up comes by itself": (
        {"pods": [ready()], "names": [replace(CONFLICT, passing=True)]},
        "InProgress",
        {"Ready": "False/NameHandover", "NamesRegistered": "False/NameHandover", "Reconciling": "True"},
    ),
    "a quota may be freed by others": (
        {"refused": failure("QuotaExceeded", "exceeded quota: services")},
        "InProgress",
        {"Accepted": "False/QuotaExceeded", "Reconciling": "True/QuotaExceeded"},
    ),
    "a name that leaves for its time stands in nobody's way": (
        {"pods": [ready()], "names": [NameState("old", "Alias", "Unregistering", until="2026-01-01T12:00:05Z")]},
        "Current",
        {"Ready": "True/Ready", "NamesRegistered": "True"},
    ),
    "a name that does not leave the pods": (
        {"pods": [ready()], "names": [NameState("old", "Alias", "Unregistering")]},
        "InProgress",
        {"Ready": "False/Registering", "NamesRegistered": "False/Registering"},
    ),
    "a name on its way": (
        {"pods": [ready()], "names": [REGISTERING]},
        "InProgress",
        {"Ready": "False/Registering", "NamesRegistered": "False/Registering", "EngineReady": "True"},
    ),
    "pods of two commits": (
        {"pods": [ready()], "mismatch": "The revision is pinned."},
        "InProgress",
        {"Ready": "False/CommitMismatch", "Available": "True"},
    ),
    "a revision that was given up": (
        {"pods": [ready("a", OLD)], "applied": OLD, "rolled_back": NOT_FOUND},
        "Failed",
        {
            "Ready": "False/ModelNotFound",
            "Available": "True",
            "UpToDate": "False/RolledBack",
            "EngineReady": "True",
            "Stalled": "True/ModelNotFound",
        },
    ),
    "a revision that was given up for a cause that may pass": (
        {"pods": [ready("a", OLD)], "applied": OLD, "rolled_back": KILLED},
        "Failed",
        {"Ready": "False/OOMKilled", "UpToDate": "False/RolledBack", "Stalled": "True/OOMKilled"},
    ),
    "a new pod that waits for what an old one holds": (
        {"pods": [ready("a", OLD), pod("b", scheduled=False)], "turnover": ("SurgeWaiting", "It waits.")},
        "InProgress",
        {"Ready": "False/SurgeWaiting", "Available": "True", "UpToDate": "False/SurgeWaiting", "Scheduled": "False"},
    ),
    "a paused model that serves all": (
        {"pods": [ready()], "paused": True},
        "Current",
        {"Ready": "True/Paused", "UpToDate": "True", "Available": "True"},
    ),
    "a paused model that would roll out": (
        {"pods": [ready("a", OLD)], "paused": True},
        "Failed",
        {"Ready": "False/Paused", "UpToDate": "False/Paused", "Available": "True", "Stalled": "True/Paused"},
    ),
    "pods of another image than the profile's": (
        {"pods": [ready()], "outdated": "pods run i:1"},
        "Current",
        {"Ready": "True/Ready", "UpToDate": "False/RuntimeOutdated"},
    ),
    "a pod that is being deleted does not count": (
        {"pods": [ready(deleting=True)]},
        "InProgress",
        {"Ready": "False", "Available": "False/NoReadyReplica"},
    ),
}


@pytest.mark.parametrize(("facts", "kstatus", "wanted"), CASES.values(), ids=CASES)
def test_the_conditions_of(facts: dict[str, Any], kstatus: str, wanted: dict[str, str]) -> None:
    found = {one.type: one for one in conditions(situation(**facts))}
    for kind, said in wanted.items():
        state, _, reason = said.partition("/")
        assert found[kind].status == state, kind
        assert reason in ("", found[kind].reason), kind
    assert read_as_kstatus(found) == kstatus


def read_as_kstatus(found: dict[str, Verdict]) -> str:
    """The rules of kstatus for an object whose observedGeneration is its generation."""
    if "Reconciling" in found:
        assert found["Reconciling"].status == "True"
        return "InProgress"
    if "Stalled" in found:
        assert found["Stalled"].status == "True"
        return "Failed"
    return "Current" if found["Ready"].status == "True" else "InProgress"


POD = st.builds(
    lambda name, revision, is_ready, deleting: (
        ready(name, revision, deleting=deleting)
        if is_ready and not deleting
        else pod(name, revision, deleting=deleting)
    ),
    st.sampled_from("abcd"),
    st.sampled_from([OLD, NEW]),
    st.booleans(),
    st.booleans(),
)
SITUATION = st.builds(
    lambda replicas, pods, refused, failed, mismatch, names: situation(
        replicas=replicas, pods=pods, refused=refused, failure=failed, mismatch=mismatch, names=names
    ),
    st.integers(0, 3),
    st.lists(POD, max_size=4),
    st.sampled_from([None, REFUSED]),
    st.sampled_from([None, NOT_FOUND, KILLED]),
    st.sampled_from(["", "Two commits."]),
    st.sampled_from([(), (CONFLICT,), (REGISTERING,)]),
)


@given(SITUATION)
def test_whatever_happens_the_conditions_fit_each_other(s: Situation) -> None:
    found = {one.type: one for one in conditions(s)}
    assert all(one.reason in REASONS and one.message and len(one.message) <= 1024 for one in found.values())
    assert (found["Available"].status == "True") == (s.ready > 0)
    assert not ("Reconciling" in found and "Stalled" in found)
    assert (found["Ready"].status == "False") == bool({"Reconciling", "Stalled"} & set(found))
    if found["Ready"].status == "True":
        assert s.refused is None
        assert s.failure is None
        assert s.ready_updated >= s.replicas


DESCRIBED = Described("tiny", "http://tiny.team.svc", "hf://org/tiny", "c0ffee", "nvidia", {"nvidia.com/gpu": "1"})


def test_the_time_of_a_condition_moves_only_when_its_status_flips() -> None:
    first = status(situation(pods=[pod()]), DESCRIBED, {}, "t1")
    failed = status(situation(pods=[pod()], failure=NOT_FOUND), DESCRIBED, first, "t2")
    done = status(situation(pods=[ready()], generation=4), DESCRIBED, failed, "t3")

    def of(found: dict[str, Any], kind: str) -> tuple[str, str]:
        one = next(c for c in found["conditions"] if c["type"] == kind)
        return one["lastTransitionTime"], one["reason"]

    assert of(first, "Ready") == ("t1", "Loading")
    assert of(failed, "Ready") == ("t1", "ModelNotFound")
    assert of(done, "Ready") == ("t3", "Ready")
    assert {one["observedGeneration"] for one in done["conditions"]} == {4}


def test_equal_situations_give_equal_statuses() -> None:
    first = status(situation(pods=[ready()]), DESCRIBED, {}, "t1")
    assert status(situation(pods=[ready()]), DESCRIBED, first, "t2") == first


def test_the_status_of_a_ready_model() -> None:
    found = status(situation(pods=[ready(), ready("b", OLD, deleting=True, ready=False)]), DESCRIBED, {}, "t1")
    del found["conditions"]
    assert found == {
        "observedGeneration": 3,
        "url": "http://tiny.team.svc",
        "selector": "arriero.dev/model=tiny",
        "replicas": 1,
        "readyReplicas": 1,
        "updatedReplicas": 1,
        "profile": "nvidia",
        "accelerators": "nvidia.com/gpu: 1",
        "model": {"resolved": "hf://org/tiny", "revision": "c0ffee", "serving": NEW, "wanted": NEW, "lastGood": NEW},
        "names": [{"name": "tiny", "kind": "Model", "state": "Registered", "pods": 1}],
        "progress": {"phase": "Draining", "message": "1 pod lets its requests end"},
    }


def test_progress_is_there_only_while_something_is_under_way() -> None:
    assert status(situation(pods=[pod()]), DESCRIBED, {}, "t")["progress"]["phase"] == "Loading"
    assert "progress" not in status(situation(pods=[ready()]), DESCRIBED, {}, "t")
    assert "progress" not in status(situation(pods=[pod()], failure=NOT_FOUND), DESCRIBED, {}, "t")


def test_what_was_good_is_remembered_while_another_revision_fails() -> None:
    good = status(situation(pods=[ready("a", OLD)], wanted=OLD), DESCRIBED, {}, "t")
    bad = status(situation(pods=[ready("a", OLD), pod("b")], failure=NOT_FOUND), DESCRIBED, good, "t")
    assert (bad["model"]["serving"], bad["model"]["wanted"], bad["model"]["lastGood"]) == (OLD, NEW, OLD)


def test_every_condition_is_in_the_reference() -> None:
    stalled = situation(refused=REFUSED)
    working = situation()
    told = {one.type for found in (stalled, working) for one in conditions(found)}
    assert told == CONDITIONS.keys()
