"""A watch that is dead, a worker that is stuck, a process that stands still: /livez tells it, and the rest goes on."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arriero_operator.kube.requests import REQUEST_TIMEOUT
from tests.operator.faults.conftest import MakeBehind, serve
from tests.operator.faults.test_replicas import MakeReplica, leads, replica
from tests.operator.machinery.test_edge import await_more, model, reconciles
from tests.operator.reconcile.models import model as served_model
from tests.operator.reconcile.models import patch_spec, until
from tests.support.eventually import eventually
from tests.support.faults import Passed, Seen
from tests.support.kubectl import Kubectl
from tests.support.operator import OperatorProcess, operator_kubeconfig, operator_settings
from tests.support.proxy import Proxy

pytestmark = pytest.mark.control_plane

__all__ = ["replica"]

STUCK = ("-m", "tests.support.stuck_operator")
NEVER = 3600.0
"""Seconds."""

Start = Callable[..., OperatorProcess]


@pytest.fixture
def start(kubectl: Kubectl, tmp_path: Path) -> Iterator[Start]:
    """Starts an operator whose reconcile gets stuck on some names, and kills it: it may end by nothing else."""
    running: list[OperatorProcess] = []
    kubeconfig = operator_kubeconfig(kubectl, tmp_path)

    def make(blocked: float = 0.0, **tuned: float) -> OperatorProcess:
        env = {"TUNED": json.dumps(tuned), "BLOCKED_SECONDS": str(blocked)}
        settings = operator_settings(kubectl.namespace)
        process = OperatorProcess(kubectl, tmp_path, settings, kubeconfig, program=STUCK, env=env)
        running.append(process)
        process.start()
        process.wait_ready()
        return process

    yield make
    for process in running:
        if not process.has_ended():
            process.kill()


def failures(operator: OperatorProcess, name: str) -> list[str]:
    """Why reconciles of the model have failed."""
    lines = [one for one in operator.lines() if one["message"] == "Reconcile failed" and one["model"] == name]
    return [one["error"] for one in lines]


def test_a_reconcile_that_can_not_be_ended_makes_the_process_not_live_and_holds_up_nobody_else(
    start: Start, kubectl: Kubectl
) -> None:
    operator = start(**{"process.health.STUCK": 1.0})
    kubectl.apply(model("stubborn"))
    eventually(lambda: operator.ask("/livez")[0] == 503)
    assert "a reconcile has run for" in operator.ask("/livez")[1]
    kubectl.apply(model("m"))
    await_more(operator, "m", 0)


def test_a_process_that_stands_still_answers_no_probe_and_has_lost_its_lease_when_it_goes_on(
    start: Start, kubectl: Kubectl
) -> None:
    operator = start(blocked=12)
    kubectl.apply(model("blocked"))
    eventually(lambda: operator.ask("/livez")[0] == 0)
    assert operator.wait(timeout=40) == 1
    assert "not renewed in time" in operator.lines()[-1]["error"]


@pytest.mark.full
def test_by_its_own_times_an_endless_reconcile_is_given_up_and_only_one_that_can_not_be_ends_the_process(
    start: Start, kubectl: Kubectl
) -> None:
    operator = start()
    kubectl.apply(model("endless"))
    eventually(lambda: failures(operator, "endless"), 110)
    assert failures(operator, "endless") == ["not done within 90 s"]
    assert operator.ask("/livez") == (200, "ok")
    eventually(lambda: reconciles(operator, "endless") == 2)
    kubectl.apply(model("stubborn"))
    eventually(lambda: failures(operator, "endless")[1:], 110)
    assert operator.ask("/livez") == (200, "ok"), "requests to an API server that is away last as long"
    eventually(lambda: operator.ask("/livez")[0] == 503, 60)
    kubectl.apply(model("m"))
    await_more(operator, "m", 0)


def test_a_watch_that_begins_no_stream_any_more_is_named_while_the_others_live(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    hung = 0

    def no_stream(seen: Seen) -> Passed | None:
        nonlocal hung
        if not (seen.watch and seen.resource == "services"):
            return None
        hung += 1
        return Passed(delay=NEVER)

    watches = {"STREAM": [1, 2], "INACTIVITY": NEVER, "DEAF": 6.0}
    operator = behind(tuned={f"watching.watches.{name}": value for name, value in watches.items()})
    with way.fault(no_stream):
        eventually(lambda: operator.ask("/livez")[0] == 503, 20)
        assert (
            f"the watch of services in namespace {kubectl.namespace} has sent no request" in operator.ask("/livez")[1]
        )
        assert hung == 1
        serve(kubectl)
    way.cut()
    eventually(lambda: operator.ask("/livez") == (200, "ok"), 20)


def test_twice_as_many_models_as_workers_whose_writes_hang_hold_up_nobody_else(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    operator, hung = behind(), set[str]()
    slow = {f"slow-{number}" for number in range(2 * operator.settings["workers"])}

    def hangs(seen: Seen) -> Passed | None:
        of = next((name for name in slow if seen.write and seen.name.startswith(name)), None)
        if of is None:
            return None
        hung.add(of)
        return Passed(delay=NEVER)

    with way.fault(hangs):
        for name in sorted(slow):
            kubectl.apply(served_model(name))
        serve(kubectl, "quick", timeout=REQUEST_TIMEOUT / 2)
        assert hung == slow, "others waited for each of them, but not for its request"
        patch_spec(kubectl, "quick", {"replicas": 2})
        eventually(lambda: kubectl.json("get", "deployment", "quick")["spec"]["replicas"] == 2, 3)
        assert operator.ask("/livez") == (200, "ok")
    way.cut()
    until(kubectl, "slow-0", "Ready", "True", "Ready", timeout=20)


@pytest.mark.full
def test_requests_that_are_never_answered_hold_up_their_own_model_alone(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    operator = behind()

    def hangs(seen: Seen) -> Passed | None:
        return Passed(delay=NEVER) if seen.write and seen.name.startswith("slow") else None

    with way.fault(hangs):
        kubectl.apply(served_model("slow"))
        serve(kubectl, "quick")
        eventually(lambda: failures(operator, "slow"), 120)
        patch_spec(kubectl, "quick", {"replicas": 2})
        eventually(lambda: kubectl.json("get", "deployment", "quick")["spec"]["replicas"] == 2)
        assert operator.ask("/livez") == (200, "ok")
    until(kubectl, "slow", "Ready", "True", "Ready", timeout=120)
    assert not operator.has_ended()


@pytest.mark.full
def test_a_leader_that_is_frozen_is_followed_by_the_other_and_ends_when_it_thaws(
    replica: MakeReplica, kubectl: Kubectl
) -> None:
    first = replica("first")
    eventually(lambda: leads(first))
    second = replica("second")
    serve(kubectl)
    os.kill(first.pid, signal.SIGSTOP)
    try:
        patch_spec(kubectl, "tiny", {"replicas": 2})
        eventually(lambda: leads(second), 30)
        eventually(lambda: kubectl.json("get", "deployment", "tiny")["spec"]["replicas"] == 2)
        assert first.ask("/livez")[0] == 0
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert first.wait() == 1
    assert leads(second)
