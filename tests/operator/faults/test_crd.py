"""The CRD is missing, another, or goes while the operator runs: one line says so, and mended it works again."""

import copy
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from arriero_api import labels
from tests.cluster import ControlPlane
from tests.conftest import CRD
from tests.operator.faults.conftest import SMALL, serve
from tests.operator.reconcile.models import patch_spec, read, until
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object
from tests.support.operator import OperatorProcess, operator_kubeconfig, operator_settings

pytestmark = [pytest.mark.control_plane, pytest.mark.full]

_CRD = f"{labels.PLURAL}.{labels.GROUP}"


@pytest.fixture(scope="module")
def bare() -> Iterator[ControlPlane]:
    """A control plane without the CRD."""
    plane = ControlPlane.start(f"tests-{os.getpid()}-crd")
    yield plane
    plane.stop()


@pytest.fixture
def admin(bare: ControlPlane) -> Iterator[Kubectl]:
    """The admin's kubectl; the CRD is away before and after."""
    kubectl = Kubectl(bare.bin, bare.kubeconfig)
    yield kubectl
    kubectl.run("delete", "crd", _CRD, "--ignore-not-found")


@pytest.fixture
def process(admin: Kubectl, tmp_path: Path) -> Iterator[OperatorProcess]:
    """An operator that has not been started."""
    settings = operator_settings(admin.namespace)
    settings["profiles"]["nvidia"]["resources"] = SMALL
    found = OperatorProcess(admin, tmp_path, settings, operator_kubeconfig(admin, tmp_path))
    yield found
    found.stop()


def definition() -> Object:
    """The CRD of this version."""
    loaded: Object = yaml.safe_load(CRD.read_text())
    return loaded


def fields(crd: Object) -> Object:
    """The spec's fields in the CRD."""
    found: Object = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    return found


def install(kubectl: Kubectl, crd: Object) -> None:
    """Apply it, and wait until it is served."""
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(crd))
    eventually(lambda: kubectl.run("wait", "--for=condition=Established", f"crd/{_CRD}", "--timeout=5s"), 30)


def last_words(process: OperatorProcess) -> str:
    """The one line that it ended with."""
    said = [line for line in process.lines() if line["level"] == "critical"]
    return str(said[-1]["error"])


def test_without_the_crd_the_start_ends_and_with_it_the_next_one_works(
    process: OperatorProcess, admin: Kubectl
) -> None:
    process.start()
    assert process.wait(timeout=60) == 1
    assert "has no InferenceModel of arriero.dev/v1alpha1: install" in last_words(process)
    process.start()
    install(admin, definition())
    process.wait_ready()
    serve(admin)


def test_a_crd_that_goes_ends_the_process_and_the_next_start_says_why(process: OperatorProcess, admin: Kubectl) -> None:
    install(admin, definition())
    process.start()
    process.wait_ready()
    admin.run("delete", "crd", _CRD)
    eventually(process.has_ended, 120)
    process.start()
    assert process.wait(timeout=60) == 1
    assert "has no InferenceModel" in last_words(process)


def test_an_older_crd_is_refused_by_the_names_of_what_it_lacks(process: OperatorProcess, admin: Kubectl) -> None:
    older = copy.deepcopy(definition())
    del fields(older)["sharedMemory"]
    install(admin, older)
    process.start()
    assert process.wait(timeout=60) == 1
    assert "it lacks spec.sharedMemory: install or upgrade" in last_words(process)


def test_what_a_newer_crd_allows_and_this_operator_does_not_know_is_refused_with_the_right_advice(
    process: OperatorProcess, admin: Kubectl
) -> None:
    newer = copy.deepcopy(definition())
    fields(newer)["rollout"]["properties"]["strategy"]["enum"].append("Canary")
    install(admin, newer)
    process.start()
    process.wait_ready()
    serve(admin)
    patch_spec(admin, "tiny", {"rollout": {"strategy": "Canary"}})
    found = until(admin, "tiny", "Accepted", "False", "SpecNotUnderstood")
    assert "spec.rollout.strategy" in found["message"]
    assert "Upgrade the operator" in found["message"]
    until(admin, "tiny", "Stalled", "True", "SpecNotUnderstood")
    admin.run("scale", "im/tiny", "--replicas=2")
    eventually(lambda: read(admin, "tiny")["status"]["readyReplicas"] == 2)
    patch_spec(admin, "tiny", {"rollout": {"strategy": "Auto"}})
    until(admin, "tiny", "Ready", "True", "Ready")


def test_a_newer_crd_is_served(process: OperatorProcess, admin: Kubectl) -> None:
    newer = copy.deepcopy(definition())
    fields(newer)["future"] = {"type": "string", "maxLength": 10}
    install(admin, newer)
    process.start()
    process.wait_ready()
    serve(admin, future="soon")
