"""One installation and one serving model for all tests here; each test leaves the model as it found it."""

import json
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
import yaml

from tests.cluster.cleanup import clean
from tests.cluster.state import CLUSTER, State
from tests.conftest import shared_folder
from tests.demo import hub as demo_hub
from tests.demo.install import Stage, stand_up
from tests.demo.models import documents
from tests.hub import RemoteHub
from tests.support import used_rights
from tests.support.audit import AuditLog, Request
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object, condition

OPERATOR = "system:serviceaccount:arriero-system:arriero"
EXAMPLE = Path(__file__).parents[2] / "examples" / "smollm2.yaml"
READY_SECONDS = 400


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The chart on the local cluster; the cluster is ended with the tests unless it ran before them."""
    ran_before = State(CLUSTER).kubeconfig.exists()
    try:
        stage = stand_up()
        begun = AuditLog.now(stage.cluster.audit_log)
        yield stage
        used_rights.write_down(begun.path, shared_folder(tmp_path_factory), "node", begun.start)
    finally:
        if not ran_before:
            demo_hub.stop()
            clean(CLUSTER)


@pytest.fixture(scope="session")
def kubectl(stage: Stage) -> Iterator[Kubectl]:
    """The admin's kubectl in a namespace of the tests' own, at the restricted Pod Security level."""
    name = f"e2e-{secrets.token_hex(3)}"
    kubectl = Kubectl(stage.cluster.bin, stage.cluster.kubeconfig, name)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    yield kubectl
    kubectl.run("delete", "namespace", name, "--wait=false")


@pytest.fixture
def hub(stage: Stage) -> Iterator[RemoteHub]:
    """The hub that the chart names, told what to do over HTTP."""
    remote = RemoteHub(f"http://{stage.cluster.node_address}:{demo_hub.PORT}")
    yield remote
    remote.close()


def example(name: str = "smollm2") -> Object:
    """The example that a user would apply, under another name."""
    model: Object = yaml.safe_load(EXAMPLE.read_text())
    model["metadata"]["name"] = name
    return model


@dataclass
class Start:
    """What was seen of one model from apply to Ready: each state of the resource, and the operator's writes."""

    kubectl: Kubectl
    name: str
    seen: list[Object] = field(default_factory=list)
    writes: list[Request] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The model's Service as pods reach it."""
        return f"http://{self.name}.{self.kubectl.namespace}.svc/v1/chat/completions"

    def pods(self) -> dict[str, int]:
        """The model's pods, also those that are stopping: uid → restarts."""
        return {
            pod["metadata"]["uid"]: sum(c["restartCount"] for c in pod["status"].get("containerStatuses", ()))
            for pod in self.kubectl.items("pods", f"arriero.dev/model={self.name}")
        }

    def wait_ready(self) -> None:
        """As a user waits. Raises KubectlError."""
        self.kubectl.run(
            "wait", f"im/{self.name}", "--for=condition=Ready", f"--timeout={READY_SECONDS}s", timeout=READY_SECONDS + 9
        )


@pytest.fixture(scope="session")
def smollm2(stage: Stage, kubectl: Kubectl) -> Start:
    """The example, applied and watched until it is Ready."""
    start = Start(kubectl, "smollm2")
    log = AuditLog.now(stage.cluster.audit_log)
    kubectl.apply(example())
    command = kubectl.command("get", "im", "smollm2", "--watch", "-o", "json")
    with Popen(command, stdout=PIPE, text=True, env=kubectl.env) as watch:
        reader = threading.Thread(target=lambda: start.seen.extend(documents(watch.stdout or ())), daemon=True)
        reader.start()
        try:
            start.wait_ready()
            eventually(lambda: start.seen and condition(start.seen[-1], "Ready").get("status") == "True")
        finally:
            watch.terminate()
            reader.join(10)
    start.writes = log.writes(OPERATOR)
    return start


def dump(obj: Object) -> str:
    """For messages of failed assertions."""
    return json.dumps(obj, indent=1)
