"""Many objects and many events: memory stays flat, because events of a waiting key are one entry."""

import asyncio
from pathlib import Path

import pytest

from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.protocol import MODELS
from tests.conftest import MakeOperator
from tests.operator.machinery.test_edge import IDLE, model
from tests.support.eventually import eventually_async

pytestmark = [pytest.mark.control_plane, pytest.mark.full]

MODELS_COUNT = 300
ROUNDS = 20


def resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1024


async def test_a_storm_of_events_with_slow_reconciles_leaves_memory_flat_and_the_backlog_bounded(
    operator: MakeOperator, kube: ApiServer, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDLE_SECONDS", "0.5")
    names = [f"m{number}" for number in range(MODELS_COUNT)]
    for name in names:
        created = model(name)
        created["metadata"]["namespace"] = namespace
        await kube.create(MODELS, created)
    running = operator(program=IDLE)

    async def change(name: str, replicas: int) -> None:
        await kube.merge_patch(MODELS, namespace, name, {"spec": {"replicas": replicas}})

    await asyncio.gather(*(change(name, 2) for name in names))
    before = resident_mib(running.pid)
    for count in range(ROUNDS):
        await asyncio.gather(*(change(name, count) for name in names))
    seen = 'arriero_watch_events_total{kind="InferenceModel"} '
    wanted = MODELS_COUNT * ROUNDS

    def all_seen() -> bool:
        status, text = running.ask("/metrics")
        assert status == 200, (status, running.has_ended())
        (line,) = (line for line in text.splitlines() if line.startswith(seen))
        return float(line.removeprefix(seen)) >= wanted

    await eventually_async(all_seen, timeout=30)
    metrics = running.ask("/metrics")[1]
    depth = next(line for line in metrics.splitlines() if line.startswith("arriero_queue_depth "))
    assert float(depth.split()[1]) <= MODELS_COUNT
    after = resident_mib(running.pid)
    assert after - before < 20
    print(f"resident: {before:.0f} MiB with {MODELS_COUNT} models, {after:.0f} MiB after {wanted} events")
