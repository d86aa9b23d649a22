"""Two operators of one installation: one works, the other is ready to; at no time do both."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.protocol import DEPLOYMENTS, MODELS
from tests.cluster import ControlPlane
from tests.operator.faults.conftest import TUNED, serve
from tests.operator.reconcile.models import model, patch_spec
from tests.support.audit import AuditLog, Request
from tests.support.eventually import PATIENCE, eventually
from tests.support.kubectl import Kubectl, condition
from tests.support.operator import OperatorProcess, operator_kubeconfig, operator_settings

pytestmark = pytest.mark.control_plane

MANY = 1000
TAKEN_OVER = 15.0
"""Seconds."""
_HELD = "arriero_lease_held 1.0"


class MakeReplica(Protocol):
    """Starts a replica that the audit log knows by an account of its own; it is ended with the test."""

    def __call__(self, name: str) -> OperatorProcess:
        """`name` ends the account's."""


@pytest.fixture
def replica(kubectl: Kubectl, tmp_path: Path) -> Iterator[MakeReplica]:
    """MakeReplica: all hold or await the same Lease."""
    running: list[OperatorProcess] = []

    def make(name: str) -> OperatorProcess:
        release = f"arriero-{name}"
        settings = operator_settings(kubectl.namespace)
        settings["profiles"]["nvidia"]["resources"] = {"limits": {}, "requests": {"cpu": "1m", "memory": "1Mi"}}
        kubeconfig = operator_kubeconfig(kubectl, tmp_path, release)
        process = OperatorProcess(kubectl, tmp_path, settings, kubeconfig, name, TUNED, release=release)
        running.append(process)
        process.start()
        process.wait_ready()
        return process

    yield make
    for process in running:
        process.stop()


def leads(operator: OperatorProcess) -> bool:
    """Whether it holds the Lease."""
    return _HELD in operator.ask("/metrics")[1]


def written(log: AuditLog, operator: OperatorProcess) -> list[Request]:
    """What it has written but the Lease."""
    return [one for one in log.writes(operator.user) if one.resource not in ("leases", "selfsubjectaccessreviews")]


def resident(operator: OperatorProcess) -> float:
    """Its memory in MiB."""
    status = Path(f"/proc/{operator.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1024


def test_of_two_replicas_one_writes_and_after_its_stop_the_other(
    replica: MakeReplica, kubectl: Kubectl, control_plane: ControlPlane
) -> None:
    log = AuditLog.now(control_plane.audit_log)
    first = replica("first")
    eventually(lambda: leads(first))
    second = replica("second")
    serve(kubectl)
    patch_spec(kubectl, "tiny", {"replicas": 2})
    eventually(lambda: kubectl.json("get", "deployment", "tiny")["spec"]["replicas"] == 2)
    assert written(log, first)
    assert not written(log, second)
    eventually(lambda: condition(kubectl.json("get", "im", "tiny"), "Ready").get("status") == "True", 20)
    assert first.stop() == 0
    after = AuditLog.now(control_plane.audit_log)
    patch_spec(kubectl, "tiny", {"replicas": 3})
    eventually(lambda: kubectl.json("get", "deployment", "tiny")["spec"]["replicas"] == 3, 6)
    assert leads(second)
    assert {one.name for one in written(after, second) if one.resource == "deployments"} == {"tiny"}


@pytest.mark.full
@pytest.mark.parametrize("end", ["killed", "stopped"])
async def test_with_a_thousand_models_another_takes_over_within_fifteen_seconds(
    replica: MakeReplica, kubectl: Kubectl, kube: ApiServer, control_plane: ControlPlane, end: str
) -> None:
    namespace = kubectl.namespace
    first = replica("first")
    eventually(lambda: leads(first))
    second = replica("second")
    # Replicas 0: what is measured is the operator, not a thousand pods.
    slots = asyncio.Semaphore(16)
    await asyncio.gather(*(_make(kube, namespace, f"m{number}", slots) for number in range(MANY)))
    await _until(partial(_all_settled, kube, namespace), 400)
    leader, standby = (first, second) if leads(first) else (second, first)
    if standby.has_ended():  # a busy machine may have cost it the Lease while the models were made
        standby.start()
        standby.wait_ready()
    memory = resident(leader), resident(standby)
    began = AuditLog.now(control_plane.audit_log)
    await asyncio.sleep(12)  # the absence of writes cannot be awaited
    assert written(began, leader) == written(began, standby) == []
    log = AuditLog.now(control_plane.audit_log)
    moment = time.monotonic()
    await asyncio.to_thread(leader.kill if end == "killed" else leader.stop)
    await kube.merge_patch(MODELS, namespace, "m500", {"spec": {"engine": {"maxModelLen": 1024}}})
    await kube.merge_patch(MODELS, namespace, "m7", {"spec": {"replicas": 1}})

    async def acted() -> bool:
        return bool((await kube.get(DEPLOYMENTS, namespace, "m7"))["spec"]["replicas"] == 1)

    await _until(acted, 2 * TAKEN_OVER)
    took = time.monotonic() - moment
    assert took < TAKEN_OVER
    await asyncio.sleep(15)  # all thousand are looked at meanwhile
    touched = {one.name for one in written(log, standby) if one.resource in ("deployments", "services", "configmaps")}
    assert {name.split("-")[0] for name in touched} == {"m7", "m500"}
    quiet = AuditLog.now(control_plane.audit_log)
    await asyncio.sleep(6)
    assert written(quiet, standby) == []
    print(
        f"{MANY} models, the leader {end}: the next one acted after {took:.1f} s; leader {memory[0]:.0f} MiB, "
        f"standby {memory[1]:.0f} MiB, standby after the take-over {resident(standby):.0f} MiB"
    )
    assert memory[1] < 150


async def _until(probe: Callable[[], Awaitable[bool]], seconds: float) -> None:
    deadline = time.monotonic() + seconds * PATIENCE
    while not await probe():
        assert time.monotonic() < deadline, f"not within {seconds * PATIENCE:g} s"
        await asyncio.sleep(0.2)


async def _make(kube: ApiServer, namespace: str, name: str, slots: asyncio.Semaphore) -> None:
    made = model(name, replicas=0)
    made["metadata"]["namespace"] = namespace
    async with slots:
        await kube.create(MODELS, made)


async def _all_settled(kube: ApiServer, namespace: str) -> bool:
    await asyncio.sleep(2)
    found: list[dict[str, Any]] = await kube.list(MODELS, namespace)
    return len(found) == MANY and all(condition(one, "Ready").get("status") == "True" for one in found)
