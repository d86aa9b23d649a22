"""Pods on fake nodes whose kubelet is the test: it writes their status and removes them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.operator.reconcile.made import seen
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object

NO_RUNTIME = "127.99.0.1"
"""An address on loopback at which nothing listens."""


def now() -> str:
    """The time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Pods:
    """The pods of one model; `stem` is what its children are named by."""

    kubectl: Kubectl
    stem: str

    def all(self) -> list[Object]:
        """All pods, also those that are being deleted."""
        found = self.kubectl.items("pods", f"arriero.dev/model={self.stem}")
        for pod in found:
            seen(pod)
        return found

    def live(self) -> list[Object]:
        """The pods that are not being deleted, the oldest first."""
        found = [pod for pod in self.all() if "deletionTimestamp" not in pod["metadata"]]
        return sorted(found, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))

    def placed(self, count: int = 1) -> list[Object]:
        """Wait until there are exactly `count` live pods and all have a node."""

        def look() -> list[Object]:
            pods = self.live()
            assert len(pods) == count, [pod["metadata"]["name"] for pod in pods]
            assert all(pod["spec"].get("nodeName") for pod in pods)
            return pods

        return eventually(look, 15) if count else []

    def run(self, pod: Object, ip: str = NO_RUNTIME) -> None:
        """The container runs and is not ready yet."""
        self._write(pod, ready=False, ip=ip, container={"state": {"running": {"startedAt": now()}}})

    def ready(self, pod: Object, ip: str = NO_RUNTIME) -> None:
        """The container runs and is ready."""
        self._write(pod, ready=True, ip=ip, container={"state": {"running": {"startedAt": now()}}})

    def waiting(self, pod: Object, reason: str, message: str, last: Mapping[str, Any] | None = None) -> None:
        """The container waits; `last` is how it ended before."""
        container: Object = {"state": {"waiting": {"reason": reason, "message": message}}}
        if last is not None:
            container |= {"lastState": {"terminated": dict(last)}, "restartCount": 1}
        self._write(pod, ready=False, container=container)

    def stopped(self, pod: Object, said: str) -> None:
        """The container was stopped as asked, and said this in its termination message."""
        ended = {"terminated": {"exitCode": 0, "reason": "Completed", "message": said, "finishedAt": now()}}
        self._write(pod, ready=False, container={"state": ended})

    def remove(self, pod: Object) -> None:
        """The kubelet has ended the deleted pod."""
        name = pod["metadata"]["name"]
        self.kubectl.run("delete", "pod", name, "--grace-period=0", "--force", "--wait=false", "--ignore-not-found")

    def remove_deleted(self) -> None:
        """All pods that are being deleted end."""
        for pod in self.all():
            if "deletionTimestamp" in pod["metadata"]:
                self.remove(pod)

    def _write(self, pod: Object, *, ready: bool, container: Object, ip: str = "") -> None:
        word = str(ready)
        status: Object = {
            "phase": "Running" if "running" in container["state"] else "Pending",
            "conditions": [
                {"type": kind, "status": word, "lastTransitionTime": now()} for kind in ("Ready", "ContainersReady")
            ]
            + [{"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}],
            "containerStatuses": [
                {"name": "runtime", "image": "i", "imageID": "", "ready": ready, "restartCount": 0} | container
            ],
        }
        if ip:
            status |= {"podIP": ip, "podIPs": [{"ip": ip}], "hostIP": "127.0.0.1"}
        patch = json.dumps({"status": status})
        name = pod["metadata"]["name"]
        self.kubectl.run("patch", "pod", name, "--subresource=status", "--type=merge", "-p", patch)
