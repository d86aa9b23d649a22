"""The cluster with a real node: pods run, are reached by name, and nothing is left at the end."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import Cluster
from tests.cluster.network import NODE_BRIDGE, POD_BRIDGE
from tests.cluster.processes import Process, marked
from tests.cluster.state import State
from tests.support.kubectl import Kubectl, KubectlError

pytestmark = pytest.mark.node
NAMESPACE = f"test-node-{os.getpid()}"
SERVE = (
    "trap 'exit 0' TERM; echo serving;"
    " while :; do printf 'HTTP/1.0 200 OK\\r\\n\\r\\nit is me\\n' | nc -l -p 8080; done & wait"
)
ELSEWHERE = "203.0.113.1"  # of a range reserved for documentation


@pytest.fixture(scope="module")
def kubectl(node: Cluster) -> Iterator[Kubectl]:
    """kubectl in a namespace at the restricted level with a running pod `web` behind a Service `greeting`."""
    everywhere = Kubectl(node.bin, node.kubeconfig)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}
    everywhere.run("apply", "-f", "-", stdin=json.dumps(namespace))
    kubectl = everywhere.within(NAMESPACE)
    kubectl.run("apply", "-f", "-", stdin=json.dumps(_pod(node.toolbox, accelerators=1)))
    kubectl.run("create", "service", "clusterip", "greeting", "--tcp=80:8080")
    kubectl.run("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
    yield kubectl
    if State(node.name).folder.is_dir():
        everywhere.run("delete", "namespace", NAMESPACE, "--wait=false")


def test_a_pod_at_the_restricted_level_runs_with_an_accelerator(kubectl: Kubectl) -> None:
    pod = kubectl.json("get", "pod", "web")
    assert pod["spec"]["nodeName"] == "arriero"
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 0


def test_logs_and_exec_work(kubectl: Kubectl) -> None:
    assert kubectl.run("logs", "web") == "serving\n"
    assert kubectl.run("exec", "web", "--", "cat", "/proc/1/comm") == "sh\n"


@pytest.mark.parametrize("form", ["greeting", "greeting.{}", "greeting.{}.svc", "greeting.{}.svc.cluster.local"])
def test_a_service_is_reached_by_its_name(kubectl: Kubectl, form: str) -> None:
    name = form.format(NAMESPACE)
    assert kubectl.run("exec", "web", "--", "wget", "-q", "-O-", f"http://{name}/") == "it is me\n"


def test_a_name_outside_of_the_cluster_does_not_exist(kubectl: Kubectl) -> None:
    with pytest.raises(KubectlError):
        kubectl.run("exec", "web", "--", "nslookup", "elsewhere.test")


def test_a_pod_reaches_nothing_outside_of_the_cluster(kubectl: Kubectl) -> None:
    with pytest.raises(KubectlError, match="Network is unreachable"):
        kubectl.run("exec", "web", "--", "nc", ELSEWHERE, "80")


def test_the_scheduler_says_when_the_accelerators_do_not_suffice(kubectl: Kubectl, node: Cluster) -> None:
    kubectl.run("apply", "-f", "-", stdin=json.dumps(_pod(node.toolbox, accelerators=2, name="greedy")))
    kubectl.run("wait", "--for=condition=PodScheduled=false", "pod/greedy", "--timeout=20s")
    conditions = kubectl.json("get", "pod", "greedy")["status"]["conditions"]
    assert "Insufficient nvidia.com/gpu" in conditions[0]["message"]
    kubectl.run("delete", "pod", "greedy", "--timeout=20s")


@pytest.mark.usefixtures("not_found_running")
def test_parts_that_died_are_started_again_under_running_pods(kubectl: Kubectl, node: Cluster) -> None:
    before = kubectl.json("get", "pod", "web")
    records = State(node.name).records
    for name in ("kubelet", "containerd", "etcd", "kube-proxy"):
        process = records.running(name)
        assert process is not None
        process.send(signal.SIGKILL)
    Cluster.start(product=False)
    assert kubectl.run("exec", "web", "--", "wget", "-q", "-O-", "http://greeting/") == "it is me\n"
    after = kubectl.json("get", "pod", "web")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["status"]["containerStatuses"][0]["restartCount"] == 0
    assert kubectl.json("get", "node", node.node_name)["status"]["allocatable"]["nvidia.com/gpu"] == "2"


@pytest.mark.usefixtures("not_found_running")
def test_down_leaves_nothing_when_everything_was_killed(kubectl: Kubectl, node: Cluster) -> None:
    folder = State(node.name).folder
    pods = [Process.of(pid) for pid in _pids_of_pods()]
    assert pods
    for process in marked(folder):
        process.send(signal.SIGKILL)
    node.stop()
    assert not folder.exists()
    assert not marked(folder)
    assert not any(process.alive() for process in pods if process)
    assert str(folder) not in Path("/proc/self/mountinfo").read_text()
    assert not any(Path(f"/sys/class/net/{name}").exists() for name in (NODE_BRIDGE, POD_BRIDGE))
    assert "kube-proxy" not in _output("nft", "list", "tables")
    assert "198.18." not in _output("ip", "route", "show")
    assert not _pids_of_pods()


def _pod(image: str, accelerators: int, name: str = "web") -> dict[str, Any]:
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "Never",
        "command": ["sh", "-c", SERVE],
        "resources": {"limits": {"nvidia.com/gpu": accelerators}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    security = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "greeting" if name == "web" else name}},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 5,
            "securityContext": security,
            "containers": [container],
        },
    }


def _pids_of_pods() -> list[int]:
    tops = [*Path("/sys/fs/cgroup").glob("kubepods"), *Path("/sys/fs/cgroup").glob("memory/kubepods")]
    return [int(pid) for top in tops for listing in top.rglob("cgroup.procs") for pid in listing.read_text().split()]


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
