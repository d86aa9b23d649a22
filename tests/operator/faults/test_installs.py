"""Two installations on one cluster divide the models by operatorClass; neither touches what is the other's."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from arriero_operator.cache.store import CACHED
from tests.cluster import ControlPlane
from tests.conftest import fresh_namespace
from tests.operator.faults.conftest import SMALL, TUNED
from tests.operator.reconcile.models import model, patch_spec, until
from tests.support.audit import AuditLog
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, KubectlError
from tests.support.operator import OperatorProcess, operator_kubeconfig, operator_settings

pytestmark = pytest.mark.control_plane

WATCHED = {kind.plural for kind in CACHED}


class Install(Protocol):
    """Installs a release of the chart with a class of its own; its operator is ended with the test."""

    def __call__(self, release: str, operator_class: str, *, everywhere: bool = False) -> OperatorProcess:
        """The running operator, which watches the test's namespace alone, with Roles alone, or `everywhere`."""


@pytest.fixture
def install(kubectl: Kubectl, tmp_path: Path) -> Iterator[Install]:
    running: list[OperatorProcess] = []

    def make(release: str, operator_class: str, *, everywhere: bool = False) -> OperatorProcess:
        watched = [] if everywhere else [kubectl.namespace]
        settings = operator_settings(kubectl.namespace, operatorClass=operator_class, watchNamespaces=watched)
        settings["profiles"]["nvidia"]["resources"] = SMALL
        kubeconfig = operator_kubeconfig(kubectl, tmp_path, release, watched)
        program = (*TUNED, f"--lease={release}")
        process = OperatorProcess(kubectl, tmp_path, settings, kubeconfig, release, program, release=release)
        running.append(process)
        process.start()
        process.wait_ready()
        return process

    yield make
    for process in running:
        process.stop()


def models_written(log: AuditLog, operator: OperatorProcess) -> set[str]:
    """Names of the models whose status or children the operator has written."""
    found = {one.name for one in log.writes(operator.user) if one.resource not in ("leases", "events")}
    return {name.split("-")[0] for name in found if name}


def test_each_of_two_installs_serves_the_models_of_its_class_and_writes_nothing_of_the_others(
    install: Install, kubectl: Kubectl, control_plane: ControlPlane
) -> None:
    log = AuditLog.now(control_plane.audit_log)
    usual, canary = install("arriero", "default"), install("arriero-canary", "canary")
    kubectl.apply(model("plain"))
    kubectl.apply(model("bird", operatorClass="canary"))
    kubectl.apply(model("orphan", operatorClass="nobodys"))
    for name in ("plain", "bird"):
        until(kubectl, name, "Ready", "True", "Ready", timeout=30)
        patch_spec(kubectl, name, {"replicas": 2})
        eventually(lambda name=name: kubectl.json("get", "deployment", name)["spec"]["replicas"] == 2)  # type: ignore[misc]
    assert models_written(log, usual) == {"plain"}
    assert models_written(log, canary) == {"bird"}
    assert "status" not in kubectl.json("get", "im", "orphan")
    # What one has lost is put right by the same one.
    usual.stop()
    after = AuditLog.now(control_plane.audit_log)
    kubectl.run("delete", "service", "plain", "bird")
    eventually(lambda: kubectl.exists("service", "bird"))
    assert not kubectl.exists("service", "plain")
    assert models_written(after, canary) == {"bird"}
    for operator in (usual, canary):
        assert not log.denied(operator.user)


def served_and_scaled(kubectl: Kubectl, name: str) -> None:
    """The model serves, and a change of it is acted on."""
    until(kubectl, name, "Ready", "True", "Ready", timeout=30)
    patch_spec(kubectl, name, {"replicas": 2})
    eventually(lambda: kubectl.json("get", "deployment", name)["spec"]["replicas"] == 2)


def test_an_install_in_one_namespace_and_one_everywhere_touch_their_own_models_alone(
    install: Install, kubectl: Kubectl, control_plane: ControlPlane
) -> None:
    log = AuditLog.now(control_plane.audit_log)
    wide, near = install("arriero-wide", "wide", everywhere=True), install("arriero-near", "near")
    with fresh_namespace(control_plane) as elsewhere:
        kubectl.apply(model("plain", operatorClass="wide"))
        kubectl.apply(model("bird", operatorClass="near"))
        elsewhere.apply(model("afar", operatorClass="wide"))
        elsewhere.apply(model("stray", operatorClass="near"))
        for where, name in ((kubectl, "plain"), (kubectl, "bird"), (elsewhere, "afar")):
            served_and_scaled(where, name)
        assert models_written(log, wide) == {"plain", "afar"}
        assert models_written(log, near) == {"bird"}
        assert "status" not in elsewhere.json("get", "im", "stray"), "its class has no operator in this namespace"
        # The one with a Role asks nothing of other namespaces, nor of all of them at once.
        asked = {one.namespace for one in log.requests() if one.user == near.user and one.resource in WATCHED}
        assert asked == {kubectl.namespace}
        # Each puts right what is its own, and not what the other has lost.
        wide.stop()
        kubectl.run("delete", "service", "plain", "bird")
        elsewhere.run("delete", "service", "afar")
        eventually(lambda: kubectl.exists("service", "bird"))
        assert not kubectl.exists("service", "plain")
        near.stop()
        wide.start()
        eventually(lambda: kubectl.exists("service", "plain") and elsewhere.exists("service", "afar"), 30)
        assert models_written(log, wide) == {"plain", "afar"}
        for operator in (wide, near):
            assert not log.denied(operator.user)


def test_a_model_cannot_change_hands(kubectl: Kubectl) -> None:
    kubectl.apply(model("plain"))
    with pytest.raises(KubectlError, match="operatorClass"):
        patch_spec(kubectl, "plain", {"operatorClass": "canary"})
