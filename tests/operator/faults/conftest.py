"""Operators whose way to the API server is faulty."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.cluster import ControlPlane
from tests.operator.reconcile.models import model, until
from tests.support.kubectl import Kubectl, Object
from tests.support.operator import OperatorProcess, operator_kubeconfig, operator_settings
from tests.support.proxy import Proxy, faulty

TUNED = ("-m", "tests.support.tuned_operator")
SMALL: Object = {"limits": {"nvidia.com/gpu": 1}, "requests": {"cpu": "1m", "memory": "1Mi"}}


class MakeBehind(Protocol):
    """Starts an operator behind the proxy; it is ended with the test."""

    def __call__(self, *, identity: str = ..., tuned: dict[str, Any] | None = None, **settings: Any) -> OperatorProcess:
        """`tuned` replaces constants of the operator, see tests.support.tuned_operator; `settings` top-level keys."""


@pytest.fixture
def way(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Proxy]:
    """The way to the API server, without faults at first; clients bring their own credentials."""
    with faulty(control_plane.kubeconfig, tmp_path) as found:
        yield found


@pytest.fixture
def behind(way: Proxy, kubectl: Kubectl, tmp_path: Path) -> Iterator[MakeBehind]:
    """MakeBehind: whole operators as processes, with the chart's rights, that are ready when they are handed out."""
    kubeconfig = way.kubeconfig(operator_kubeconfig(kubectl, tmp_path), tmp_path / "proxied.kubeconfig")
    running: list[OperatorProcess] = []

    def make(*, identity: str = "operator-0", tuned: dict[str, Any] | None = None, **settings: Any) -> OperatorProcess:
        chosen = operator_settings(kubectl.namespace, **settings)
        chosen["profiles"]["nvidia"]["resources"] = SMALL
        env = {"TUNED": json.dumps(tuned or {})}
        process = OperatorProcess(kubectl, tmp_path, chosen, kubeconfig, identity, TUNED, env=env)
        running.append(process)
        process.start()
        process.wait_ready()
        return process

    yield make
    for process in running:
        process.stop()


def serve(kubectl: Kubectl, name: str = "tiny", timeout: float = 30, **spec: Any) -> None:
    """Apply a model and wait until it serves: pods of these namespaces become ready by themselves."""
    kubectl.apply(model(name, **spec))
    until(kubectl, name, "Ready", "True", "Ready", timeout=timeout)
