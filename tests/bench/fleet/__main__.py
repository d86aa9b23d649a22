"""Runs the fleet benchmark and prints its table; the figures go to a JSON file as they come."""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.credentials import Credentials
from arriero_operator.kube.protocol import DEPLOYMENTS, Kind, Object
from tests.bench.fleet import bench, objects
from tests.bench.fleet.runtimes import Runtimes
from tests.cluster import ControlPlane
from tests.support.audit import AuditLog
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl
from tests.support.operator import OperatorProcess, operator_kubeconfig, operator_settings

CRD = Path(__file__).parents[3] / "crds" / "arriero.dev_inferencemodels.yaml"
NODES = Kind("v1", "Node", "nodes")


async def measure(count: int, storm: int) -> Object:
    """All figures for `count` models, on a control plane made and removed for it."""
    plane = ControlPlane.start(f"fleet-{os.getpid()}")
    try:
        admin = Kubectl(plane.bin, plane.kubeconfig)
        admin.run("apply", "--server-side", "-f", str(CRD))
        established = ("wait", "--for=condition=Established", "crd/inferencemodels.arriero.dev", "--timeout=5s")
        eventually(lambda: admin.run(*established), 30)
        kube = await ApiServer.connect(Credentials(plane.kubeconfig))
        try:
            for index in range(-(-count * 2 // objects.NODE_PODS)):
                await kube.create(NODES, objects.node(f"fleet-{index}"))
            served = _namespace(plane, "served")
            with tempfile.TemporaryDirectory() as folder, Runtimes(served):
                return await _measure(plane, kube, served, Path(folder), count, storm)
        finally:
            await kube.close()
    finally:
        plane.stop()


async def _measure(
    plane: ControlPlane, kube: ApiServer, served: Kubectl, folder: Path, count: int, storm: int
) -> Object:
    bare = _namespace(plane, "bare")
    operator = OperatorProcess(served, folder, operator_settings("served"), operator_kubeconfig(served, folder))
    operator.start()
    try:
        await asyncio.to_thread(operator.wait_ready)
        found: Object = {"models": count}
        found["apply"] = await bench.apply(kube, served, operator, count, AuditLog.now(plane.audit_log))
        template = (await kube.get(DEPLOYMENTS, "served", "model-0"))["spec"]["template"]
        found["rest"] = await bench.rest(operator, AuditLog.now(plane.audit_log))
        found["change"] = await bench.change(kube, "served", count)
        found["storm"] = await bench.storm(kube, "served", operator, AuditLog.now(plane.audit_log), storm)
        found["restart"] = await bench.restart(operator, AuditLog.now(plane.audit_log))
    finally:
        operator.stop()
    found["floor_seconds"] = await bench.floor(kube, bare, count, template)
    found["apply"]["of_floor"] = found["apply"]["seconds"] / found["floor_seconds"]
    return found


def _namespace(plane: ControlPlane, name: str) -> Kubectl:
    kubectl = Kubectl(plane.bin, plane.kubeconfig, name)
    kubectl.run("create", "namespace", name)
    eventually(lambda: kubectl.exists("serviceaccount", "default"))
    return kubectl


def table(runs: list[Object]) -> str:
    """The figures as Markdown, one column for each number of models."""
    rows: dict[str, list[str]] = {}
    for run in runs:
        for part, figures in run.items():
            for name, value in (figures if isinstance(figures, Mapping) else {"": figures}).items():
                rows.setdefault(f"{part} {name}".strip().replace("_", " "), []).append(_shown(value))
    head = [f"| | {' | '.join(rows.pop('models'))} |", "|---" * (len(runs) + 1) + "|"]
    return "\n".join([*head, *(f"| {name} | {' | '.join(values)} |" for name, values in rows.items())])


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {part}" for key, part in value.items())
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description="What the operator costs with many models.")
    parser.add_argument("--models", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--storm", type=int, default=10_000, help="changes of one model")
    parser.add_argument("--json", type=Path, help="file for the figures")
    wanted = parser.parse_args()
    runs: list[Object] = []
    for count in wanted.models:
        runs.append(asyncio.run(measure(count, wanted.storm)))
        if wanted.json:
            wanted.json.write_text(json.dumps(runs, indent=1))
        print(table(runs), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
