"""Two nodes that exist in the API alone, with eight accelerators each, and kwok, which plays them and their pods.

kwok brings every pod on a fake node to Running and Ready at once, and removes deleted pods at once. It leaves to the
test, from birth to removal, pods with the annotation `BY_HAND` (any value) and pods in namespaces whose name ends with
`BY_HAND_SUFFIX`: their status is what the test writes, and once deleted they stay until the test deletes them with a
grace period of 0.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.api import Object
from tests.cluster.components import Components
from tests.cluster.processes import Configuration
from tests.cluster.waiting import until

BY_HAND = "cluster.arriero.dev/by-hand"
BY_HAND_SUFFIX = "-by-hand"
FAKE_NODES = ("fake-0", "fake-1")
FAKE_NODE_LABEL = "cluster.arriero.dev/fake"
ACCELERATORS = 8
# Addresses of fake pods lie in the loopback range: nothing sent to them can leave this machine.
_POD_CIDR = "127.66.0.0/16"
_READY_SECONDS = 30
_LEFT_TO_TEST = (
    f'(.metadata.annotations["{BY_HAND}"] // empty), (.metadata.namespace | select(endswith("{BY_HAND_SUFFIX}")))'
)
_STATUS = """
phase: Running
startTime: {{ Now | Quote }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
podIP: {{ PodIPWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace | Quote }}
conditions:
{{ range $type := (list "Initialized" "Ready" "ContainersReady") }}
- {type: {{ $type }}, status: "True", lastTransitionTime: {{ Now | Quote }}}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  started: true
  restartCount: 0
  state: {running: {startedAt: {{ Now | Quote }}}}
{{ end }}
{{ with .spec.initContainers }}
initContainerStatuses:
{{ range . }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  restartCount: 0
  state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ Now | Quote }}, finishedAt: {{ Now | Quote }}}}
{{ end }}
{{ end }}
"""


@dataclass(frozen=True)
class FakeNodes:
    """The fake nodes of one control plane."""

    components: Components
    kwok: Path

    def keep(self, tainted: bool) -> None:
        """Start kwok and make the nodes if they are missing; `tainted` keeps pods that do not ask for them away."""
        for name in FAKE_NODES:
            self.components.api.create("/api/v1/nodes", _node(name, tainted))
        stages = "\n---\n".join(json.dumps(stage) for stage in (_ready_stage(), _delete_stage()))
        configuration = Configuration(self.components.folder / "kwok.yaml", stages)
        self.components.records.keep("kwok", self._command(configuration.path), configuration)
        until(self._ready, _READY_SECONDS, "the fake nodes are ready")

    def _command(self, stages: Path) -> list[str]:
        return [
            str(self.kwok / "kwok"),
            f"--kubeconfig={self.components.kubeconfig('kwok', 'kwok', 'system:masters')}",
            f"--config={stages}",
            f"--manage-nodes-with-label-selector={FAKE_NODE_LABEL}",
            "--node-lease-duration-seconds=40",
            f"--cidr={_POD_CIDR}",
            "--node-ip=127.0.0.1",
        ]

    def _ready(self) -> bool:
        self.components.records.require("kwok")
        return all(self._node_ready(name) for name in FAKE_NODES)

    def _node_ready(self, name: str) -> bool:
        node = self.components.api.find(f"/api/v1/nodes/{name}") or {}
        conditions = {item["type"]: item["status"] for item in node.get("status", {}).get("conditions", [])}
        taints = {taint["key"] for taint in node.get("spec", {}).get("taints", [])}
        return conditions.get("Ready") == "True" and "node.kubernetes.io/not-ready" not in taints


def _node(name: str, tainted: bool) -> Object:
    amounts = {"cpu": "64", "memory": "512Gi", "ephemeral-storage": "1Ti", "pods": "500"}
    amounts["nvidia.com/gpu"] = str(ACCELERATORS)
    taint = {"key": FAKE_NODE_LABEL, "value": "true", "effect": "NoSchedule"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                FAKE_NODE_LABEL: "true",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
        },
        "spec": {"taints": [taint] if tainted else []},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def _stage(name: str, conditions: list[Object], then: Object) -> Object:
    automatic = {"key": _LEFT_TO_TEST, "operator": "DoesNotExist"}
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
            "selector": {"matchExpressions": [automatic, *conditions]},
            "next": then,
        },
    }


def _ready_stage() -> Object:
    born = [
        {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"},
        {"key": ".status.podIP", "operator": "DoesNotExist"},
    ]
    return _stage("pod-ready", born, {"statusTemplate": _STATUS})


def _delete_stage() -> Object:
    deleted = [{"key": ".metadata.deletionTimestamp", "operator": "Exists"}]
    return _stage("pod-delete", deleted, {"finalizers": {"empty": True}, "delete": True})
