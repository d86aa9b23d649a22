"""The control plane on loopback with its fake nodes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.cluster import ControlPlane
from tests.cluster.fakenodes import BY_HAND, BY_HAND_SUFFIX, FAKE_NODES
from tests.cluster.folders import state_folder
from tests.cluster.processes import marked
from tests.cluster.state import State
from tests.cluster.waiting import until
from tests.support.audit import AuditLog
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.control_plane
NAME = f"test-{os.getpid()}"
NOT_RUNNING = ("--image=example.test/none:1", "--restart=Never")


@pytest.fixture
def other() -> Iterator[str]:
    """The name of a second control plane, which is ended whatever happens."""
    name = f"{NAME}-other"
    yield name
    ControlPlane(name, *[state_folder(name)] * 3).stop()


def test_both_fake_nodes_carry_eight_accelerators(on_plane: Kubectl) -> None:
    nodes = on_plane.json("get", "nodes")["items"]
    assert {node["metadata"]["name"] for node in nodes} == set(FAKE_NODES)
    assert [node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes] == ["8", "8"]


def test_a_pod_on_a_fake_node_becomes_ready_and_goes_when_it_is_deleted(on_plane: Kubectl) -> None:
    on_plane.run("run", "played", *NOT_RUNNING)
    on_plane.run("wait", "--for=condition=Ready", "pod/played", "--timeout=20s")
    status = on_plane.json("get", "pod", "played")["status"]
    assert status["podIP"].startswith("127.")
    assert status["containerStatuses"][0]["ready"] is True
    on_plane.run("delete", "pod", "played", "--timeout=20s")


@pytest.mark.parametrize("way", ["annotation", "namespace"])
def test_a_pod_marked_by_hand_has_only_the_status_that_the_test_writes(on_plane: Kubectl, way: str) -> None:
    namespace = f"way{BY_HAND_SUFFIX}" if way == "namespace" else "marked"
    on_plane.run("create", "namespace", namespace)
    kubectl = on_plane.within(namespace)
    annotation = [f"--annotations={BY_HAND}=yes"] if way == "annotation" else []
    kubectl.run("run", "mine", *NOT_RUNNING, *annotation)
    kubectl.run("wait", "--for=condition=PodScheduled", "pod/mine", "--timeout=20s")
    # A pod made later that is played shows that kwok has seen both.
    on_plane.run("run", f"later-{way}", *NOT_RUNNING)
    on_plane.run("wait", "--for=condition=Ready", f"pod/later-{way}", "--timeout=20s")
    assert "podIP" not in kubectl.json("get", "pod", "mine")["status"]
    patch = json.dumps({"status": {"phase": "Running", "podIP": "127.0.0.9"}})
    kubectl.run("patch", "pod", "mine", "--subresource=status", "--type=merge", f"--patch={patch}")
    assert kubectl.json("get", "pod", "mine")["status"]["phase"] == "Running"
    kubectl.run("delete", "pod", "mine", "--wait=false")
    assert "deletionTimestamp" in kubectl.json("get", "pod", "mine")["metadata"]
    kubectl.run("delete", "pod", "mine", "--grace-period=0", "--force")


def test_the_audit_log_lists_writes_with_user_verb_and_object(plane: ControlPlane, on_plane: Kubectl) -> None:
    log = AuditLog.now(plane.audit_log)
    on_plane.run("create", "configmap", "noted")
    mine = [request for request in log.requests() if request.name == "noted"]
    assert [(request.user, request.verb, request.resource, request.code) for request in mine] == [
        ("admin", "create", "configmaps", 201)
    ]


def test_two_control_planes_know_nothing_of_each_other(plane: ControlPlane, on_plane: Kubectl, other: str) -> None:
    second = ControlPlane.start(other)
    on_second = Kubectl(second.bin, second.kubeconfig)
    on_second.run("create", "namespace", "elsewhere")
    assert "elsewhere" not in on_plane.run("get", "namespaces", "-o", "name")
    _kill_all(other)
    second.stop()
    assert not state_folder(other).exists()
    assert not marked(state_folder(other))
    assert on_plane.run("get", "--raw", "/readyz") == "ok"


def test_starting_twice_leaves_what_runs_alone(plane: ControlPlane) -> None:
    before = _pids(plane.name)
    assert ControlPlane.start(plane.name) == plane
    assert _pids(plane.name) == before


def test_a_killed_part_is_started_again_with_its_data(plane: ControlPlane, on_plane: Kubectl) -> None:
    on_plane.run("create", "namespace", "kept")
    before = _pids(plane.name)
    _kill(plane.name, "etcd")
    ControlPlane.start(plane.name)
    after = _pids(plane.name)
    assert {name for name in before if before[name] != after[name]} == {"etcd"}
    assert on_plane.run("get", "namespace", "kept", "-o", "name").strip() == "namespace/kept"


def test_the_last_two_lines_are_for_the_shell_and_down_can_be_repeated(other: str) -> None:
    lines = _cluster("control-plane", "--name", other).stdout.splitlines()[-2:]
    assert [line.split("=")[0] for line in lines] == ["PATH", "KUBECONFIG"]
    path, kubeconfig = (line.split("=", 1)[1] for line in lines)
    environment = {"PATH": path, "KUBECONFIG": kubeconfig, "HOME": os.environ["HOME"]}
    for command in (["kubectl", "get", "nodes"], ["helm", "list"]):
        subprocess.run(command, env=environment, check=True, capture_output=True)
    for _ in range(2):
        _cluster("down", "--name", other)
    assert not marked(state_folder(other))


def test_down_finds_a_process_whose_record_is_lost(other: str) -> None:
    started = ControlPlane.start(other)
    for record in (state_folder(other) / "processes").iterdir():
        record.unlink()
    assert marked(state_folder(other))
    started.stop()
    assert not marked(state_folder(other))


def _cluster(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.cluster", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True)


def _pids(name: str) -> dict[str, int]:
    records = State(name).records
    return {part: process.pid for part in records.names() if (process := records.running(part))}


def _kill(name: str, part: str) -> None:
    process = State(name).records.running(part)
    assert process is not None
    process.send(signal.SIGKILL)
    until(lambda: not process.alive(), 10, f"{part} is dead")


def _kill_all(name: str) -> None:
    for part in _pids(name):
        _kill(name, part)
