"""Runs the fleet benchmark and prints its table; the figures go to a JSON file as they come."""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arriero_api.labels import MODEL
from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.credentials import Credentials
from arriero_operator.kube.protocol import DEPLOYMENTS, REVISIONS, Kind, Object
from tests.bench.fleet import bench, objects
from tests.bench.fleet.runtimes import Runtimes
from tests.cluster import ControlPlane
from tests.cluster.images import environment
from tests.cluster.images.build import operator_packages
from tests.support.audit import AuditLog
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl
from tests.support.operator import OperatorProcess, operator_kubeconfig, operator_settings

CRD = Path(__file__).parents[3] / "crds" / "arriero.dev_inferencemodels.yaml"
NODES = Kind("v1", "Node", "nodes")
_SPARE = 50
"""Pods beside one for each model: some may be replaced."""
PARTS = ("rest", "change", "storm", "restart", "floor")


@dataclass(frozen=True)
class Wanted:
    """What is measured beside the way from apply to Ready: some of PARTS; `storm` is how many changes that has."""

    models: int
    storm: int
    parts: Collection[str]
    told: Callable[[Object], None]
    """Called with all figures so far."""


async def measure(wanted: Wanted) -> Object:
    """The figures, on a control plane made and removed for it."""
    plane = ControlPlane.start(f"fleet-{os.getpid()}")
    try:
        admin = Kubectl(plane.bin, plane.kubeconfig)
        admin.run("apply", "--server-side", "-f", str(CRD))
        established = ("wait", "--for=condition=Established", "crd/inferencemodels.arriero.dev", "--timeout=5s")
        eventually(lambda: admin.run(*established), 30)
        kube = await ApiServer.connect(Credentials(plane.kubeconfig))
        try:
            admin.run("delete", "node", "--all")  # they would give pods other addresses
            for index in range(-(-(wanted.models * 2 + _SPARE) // objects.NODE_PODS)):
                await kube.create(NODES, objects.node(f"fleet-{index}"))
            served = _namespace(plane, "served")
            addresses = objects.addresses(wanted.models + _SPARE)
            with tempfile.TemporaryDirectory() as folder, Runtimes(served, addresses):
                return await _measure(plane, kube, served, Path(folder), wanted)
        finally:
            await kube.close()
    finally:
        plane.stop()


async def _measure(plane: ControlPlane, kube: ApiServer, served: Kubectl, folder: Path, wanted: Wanted) -> Object:
    bare = _namespace(plane, "bare")
    operator = _operator(served, folder)
    operator.start()
    found: Object = {"models": wanted.models}
    try:
        await asyncio.to_thread(operator.wait_ready)
        found["apply"] = await bench.apply(kube, served, operator, wanted.models, AuditLog.now(plane.audit_log))
        wanted.told(found)
        template = (await kube.get(DEPLOYMENTS, "served", "model-0"))["spec"]["template"]
        record = (await kube.list(REVISIONS, "served", f"{MODEL}=model-0"))[0]
        for part in (one for one in PARTS if one in wanted.parts and one != "floor"):
            found[part] = await _part(part, plane, kube, operator, wanted)
            wanted.told(found)
    finally:
        operator.stop()
    if "floor" in wanted.parts:
        found["floor_seconds"] = await bench.floor(kube, bare, wanted.models, template, record)
        found["apply"]["of_floor"] = found["apply"]["seconds"] / found["floor_seconds"]
        wanted.told(found)
    return found


async def _part(part: str, plane: ControlPlane, kube: ApiServer, operator: OperatorProcess, wanted: Wanted) -> Object:
    await bench.quiet(operator)
    log = AuditLog.now(plane.audit_log)
    if part == "rest":
        return await bench.rest(operator, log)
    if part == "change":
        return await bench.change(kube, "served", wanted.models)
    if part == "storm":
        return await bench.storm(kube, "served", operator, log, wanted.storm)
    return await bench.restart(operator, log)


def _operator(served: Kubectl, folder: Path) -> OperatorProcess:
    """The operator as its image has it: the same interpreter, packages and compiled files."""
    return OperatorProcess(
        served,
        folder,
        operator_settings("served"),
        operator_kubeconfig(served, folder),
        python=environment.PYTHON,
        env={"PYTHONPATH": os.pathsep.join(map(str, operator_packages()))},
    )


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
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS, help="what is measured beside (all)")
    parser.add_argument("--json", type=Path, help="file for the figures")
    asked = parser.parse_args()
    runs: list[Object] = []

    def told(found: Object) -> None:
        if asked.json:
            asked.json.write_text(json.dumps([*runs, found], indent=1))
        print(json.dumps(found), file=sys.stderr, flush=True)

    for count in asked.models:
        runs.append(asyncio.run(measure(Wanted(count, asked.storm, asked.parts, told))))
        print(table(runs), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
