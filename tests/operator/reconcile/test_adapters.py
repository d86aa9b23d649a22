"""Adapters in the operator: their states from what pods say, and their way to the pods on a control plane."""

from dataclasses import replace
from typing import Any

import pytest

from arriero_api.contract import (
    AdapterState,
    AdapterStatus,
    Failure,
    NameKind,
    Phase,
    Registration,
    RuntimeStatus,
)
from arriero_api.types import Spec
from arriero_operator.decide import adapters, claims, registered
from arriero_operator.decide.claims import Loss
from arriero_operator.decide.conditions import conditions
from arriero_operator.decide.plan import lost_names
from arriero_operator.decide.situation import NameState
from arriero_operator.diagnose.failures import failure
from arriero_operator.render import arguments
from arriero_operator.render.inputs import pod_inputs
from arriero_operator.render.owner import Owner
from arriero_operator.revisions import records
from arriero_operator.revisions.room import room_of
from tests.conftest import MakeOperator
from tests.operator.reconcile.made import START, chosen, ready, situation
from tests.operator.reconcile.models import events, patch_spec, read, until
from tests.operator.reconcile.pods import now
from tests.operator.reconcile.runtime import ScriptedRuntime, scripted_runtime
from tests.operator.reconcile.test_live import registrations, serve, states
from tests.operator.reconcile.test_render import GPU
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, condition

SUPPORT = Registration("support", NameKind.ADAPTER, "hf://org/support", "v2")
OWN = Registration("tiny", NameKind.MODEL)
TOO_HIGH = Failure(
    "AdapterRankTooHigh", "Adapter support (hf://org/support): its rank is 64", "Raise spec.lora.maxRank."
)


def spec(**lora: Any) -> Spec:
    return Spec.model_validate({"model": {"uri": "hf://org/tiny"}, "lora": lora})


def says(state: AdapterState, revision: str = "v2", failed: Failure | None = None) -> RuntimeStatus:
    """A ready runtime with one adapter."""
    return RuntimeStatus(Phase.READY, adapters=(AdapterStatus("support", "hf://org/support", revision, state, failed),))


def state(*statuses: RuntimeStatus | None, known: adapters.Trusted = adapters.NOTHING) -> tuple[str, int]:
    """State of the adapter where ready pods say so, and by how many it is served."""
    pods = [ready(str(number), status=one) for number, one in enumerate(statuses)]
    (found,) = adapters.states((OWN, SUPPORT), pods, known)
    return found.state, found.pods


def test_an_adapter_is_registered_when_every_ready_pod_has_it() -> None:
    done, coming = says(AdapterState.REGISTERED), says(AdapterState.REGISTERING)
    assert state(done, done) == ("Registered", 2)
    assert state(done, coming) == ("Registering", 1)
    assert state() == ("Registering", 0)


def test_an_earlier_revision_of_the_name_proves_nothing() -> None:
    assert state(says(AdapterState.REGISTERED, "v1")) == ("Registering", 0)
    assert state(says(AdapterState.FAILED, "v1", TOO_HIGH)) == ("Registering", 0)


def test_one_pod_that_cannot_load_it_is_enough_to_fail() -> None:
    pods = [
        ready("a", status=says(AdapterState.REGISTERED)),
        ready("b", status=says(AdapterState.FAILED, failed=TOO_HIGH)),
    ]
    (found,) = adapters.states((OWN, SUPPORT), pods, adapters.NOTHING)
    assert (found.state, found.pods, found.reason) == ("Failed", 1, "AdapterRankTooHigh")
    assert found.message == "Adapter support (hf://org/support): its rank is 64. Raise spec.lora.maxRank."


def test_a_reason_of_a_newer_runtime_is_told_as_a_known_one() -> None:
    pods = [ready(status=says(AdapterState.FAILED, failed=Failure("AdapterTired", "words", "Wait.")))]
    (found,) = adapters.states((SUPPORT,), pods, adapters.NOTHING)
    assert found.reason == "EngineFailed"
    assert "AdapterTired: words" in found.message


BEFORE: dict[str, Any] = {
    "observedGeneration": 3,
    "names": [{"name": "support", "state": "Registered"}, {"name": "other", "state": "Failed"}],
    "conditions": [{"type": "NamesRegistered", "status": "True", "lastTransitionTime": "2026-01-01T12:00:00Z"}],
}
MODEL = {"metadata": {"generation": 3}}


def test_what_the_status_says_of_an_unchanged_spec_holds_until_a_pod_has_spoken() -> None:
    known = adapters.trusted(BEFORE, MODEL)
    assert known.names == {"support"}
    assert state(None, known=known) == ("Registered", 1)
    assert state(None) == ("Registering", 0)
    assert state(says(AdapterState.REGISTERING), known=known) == ("Registering", 0)


@pytest.mark.parametrize(
    "change",
    [
        {"observedGeneration": 2},
        {"conditions": []},
        {"conditions": [BEFORE["conditions"][0] | {"status": "False"}]},
        {"conditions": [BEFORE["conditions"][0] | {"lastTransitionTime": "2026-01-01T11:59:00Z"}]},
    ],
    ids=["another spec", "no condition", "not all were registered", "the container has started since"],
)
def test_nothing_else_of_the_status_is_trusted(change: dict[str, Any]) -> None:
    """A container that has started anew while no operator looked is asked what became of its adapters."""
    assert state(None, known=adapters.trusted(BEFORE | change, MODEL)) == ("Registering", 0)


def test_other_names_do_not_wait_for_an_adapter() -> None:
    waiting = NameState("support", "Adapter", "Registering")
    found = registered.name_states((OWN, SUPPORT), {}, [], 1, 1, START, [waiting])
    assert [(one.name, one.state) for one in found] == [("tiny", "Registered"), ("support", "Registering")]


def test_a_failed_adapter_takes_ready_and_nothing_else() -> None:
    names = (
        NameState("tiny", "Model", "Registered", 1),
        NameState("support", "Adapter", "Failed", 0, "It is too high. Raise it.", "AdapterRankTooHigh"),
    )
    found = {one.type: one for one in conditions(situation(pods=[ready()], names=names))}
    assert {kind for kind, one in found.items() if one.status == "False"} == {"Ready", "NamesRegistered"}
    assert found["Ready"].reason == "AdapterRankTooHigh"
    assert found["Ready"].message == "It is too high. Raise it."
    assert found["Stalled"].status == "True"


def test_an_adapters_name_is_claimed_like_any_other() -> None:
    listed = {"adapters": [{"name": "support", "uri": "hf://org/support", "revision": "v2"}]}
    assert claims.wanted_names("tiny", spec(**listed)) == (OWN, SUPPORT)

    def model(name: str, created: str, **fields: Any) -> dict[str, Any]:
        metadata = {"name": name, "uid": name, "creationTimestamp": created}
        return {"metadata": metadata, "spec": {"model": {"uri": "hf://a/b"}, **fields}}

    older, newer = model("support", "2026-01-01"), model("tiny", "2026-01-02", lora=listed)
    assert lost_names(newer, [older]) == {"support": Loss("support")}


def test_the_capacity_is_of_the_revision_and_the_list_is_not() -> None:
    plain = pod_inputs(Spec.model_validate({"model": {"uri": "hf://org/tiny"}}), GPU)
    room, other = pod_inputs(spec(), GPU), pod_inputs(spec(maxRank=64), GPU)
    assert len({plain.hash, room.hash, other.hash}) == 3
    assert pod_inputs(spec(adapters=[{"name": "support", "uri": "hf://org/support"}]), GPU).hash == room.hash
    assert not [flag for flag in arguments.engine_flags(plain) if "lora" in flag]
    flags = ["--enable-lora", "--max-lora-rank=64", "--max-loras=4", "--max-cpu-loras=16"]
    assert [flag for flag in arguments.engine_flags(other) if "lora" in flag] == flags


def test_the_room_of_a_revision_is_read_from_its_record() -> None:
    owner = Owner("team", "tiny", "uid")
    with_room = records.wanted(owner, chosen(pod_inputs(spec(maxLoaded=5), GPU)), [])
    without = records.wanted(
        owner, chosen(pod_inputs(Spec.model_validate({"model": {"uri": "hf://org/tiny"}}), GPU)), []
    )
    assert room_of(with_room.record).adapters == 5
    assert room_of(without.record).adapters == 0
    assert room_of(None).adapters == 0


def follow(kubectl: Kubectl, runtime: ScriptedRuntime, state: AdapterState, failed: Failure | None = None) -> None:
    """The runtime has read the file; all of its adapters are in this state."""
    content = registrations(kubectl)
    found = tuple(AdapterStatus(one.name, one.uri, one.revision, state, failed) for one in content.adapters)
    runtime.status = replace(runtime.status, registrations=content.hash, adapters=found)


@pytest.mark.control_plane
def test_a_container_that_started_anew_unseen_is_asked_for_its_adapters(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    process = operator()
    entry = {"name": "support", "uri": "hf://org/support"}
    with scripted_runtime() as runtime:
        pods, pod = serve(kubectl, runtime, lora={})
        patch_spec(kubectl, "tiny", {"lora": {"adapters": [entry]}})
        eventually(lambda: registrations(kubectl).adapters, 2)
        follow(kubectl, runtime, AdapterState.REGISTERED)
        until(kubectl, "tiny", "Ready", "True", "Ready")
        process.stop()
        runtime.status = replace(runtime.status, adapters=())
        registered_at = condition(read(kubectl, "tiny"), "NamesRegistered")["lastTransitionTime"]
        eventually(lambda: now() > registered_at)
        pods.ready(pod, runtime.ip)
        operator(identity="operator-1")
        until(kubectl, "tiny", "Ready", "False", "Registering")
        follow(kubectl, runtime, AdapterState.REGISTERED)
        until(kubectl, "tiny", "Ready", "True", "Ready")


@pytest.mark.control_plane
def test_an_adapter_comes_changes_fails_and_goes_with_the_same_pod(served: Kubectl) -> None:
    entry = {"name": "support", "uri": "hf://org/support", "revision": "v1"}
    with scripted_runtime() as runtime:
        pods, pod = serve(served, runtime, lora={"maxRank": 16})
        patch_spec(served, "tiny", {"lora": {"adapters": [entry]}})
        eventually(lambda: [one.name for one in registrations(served).adapters] == ["support"], 2)
        follow(served, runtime, AdapterState.REGISTERING)
        until(served, "tiny", "NamesRegistered", "False", "Registering")
        assert states(served) == {"tiny": "Registered", "support": "Registering"}
        follow(served, runtime, AdapterState.REGISTERED)
        until(served, "tiny", "Ready", "True", "Ready")
        assert states(served) == {"tiny": "Registered", "support": "Registered"}

        patch_spec(served, "tiny", {"lora": {"adapters": [entry | {"revision": "v2"}]}})
        eventually(lambda: registrations(served).adapters[0].revision == "v2", 2)
        until(served, "tiny", "Ready", "False", "Registering")
        follow(served, runtime, AdapterState.FAILED, failure("AdapterNotFound", "Adapter support: no such revision"))
        found = until(served, "tiny", "Ready", "False", "AdapterNotFound")
        assert "Correct the adapter's uri or revision in spec.lora.adapters" in found["message"]
        for kind in ("Available", "EngineReady", "UpToDate"):
            until(served, "tiny", kind, "True")
        assert states(served) == {"tiny": "Registered", "support": "Failed"}
        eventually(lambda: events(served, "tiny", "AdapterNotFound"))

        follow(served, runtime, AdapterState.REGISTERED)
        until(served, "tiny", "Ready", "True", "Ready", timeout=20)

        patch_spec(served, "tiny", {"lora": {"adapters": []}})
        eventually(lambda: states(served).get("support") == "Unregistering", 2)
        eventually(lambda: not registrations(served).adapters, 15)
        follow(served, runtime, AdapterState.REGISTERED)
        eventually(lambda: states(served) == {"tiny": "Registered"})
        until(served, "tiny", "Ready", "True", "Ready")
        (same,) = pods.live()
        assert same["metadata"]["uid"] == pod["metadata"]["uid"]
        assert len(read(served, "tiny")["status"]["names"]) == 1
