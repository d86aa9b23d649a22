"""What is known of one pod, read from its JSON once; decisions and diagnosis work on this."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from arriero_api import labels
from arriero_api.contract import RuntimeStatus
from arriero_operator.pods import containers
from arriero_operator.pods.resources import held


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a container."""

    reason: str
    exit_code: int
    message: str


@dataclass(frozen=True, slots=True)
class Told:
    """What the Events of a pod say: why it has no sandbox yet (`reason` of the Event and its words), and whether an
    autoscaler has promised a node for it."""

    reason: str = ""
    message: str = ""
    node_coming: bool = False


@dataclass(frozen=True, slots=True)
class PodFacts:
    """One pod of a model.

    `holds` is what it asks for, by resource; `nominated` is the node that the scheduler or an autoscaler has in
    mind for it. `ends` is by when a pod that is being deleted has to have stopped. `waiting` and `waiting_message` are
    the container's waiting state; `ended` its current and `last_ended` its previous end; `running_since` is set while
    it runs. `ready_changed` is when the Ready condition last changed.
    They are those of `container`: the runtime (empty), or another container of the pod that keeps it from being ready.
    `sandboxed`: its volumes are mounted and its network is there, as far as the kubelet says that. `silent_node`: its
    node does not report any more. `disrupted` is who ended the pod, by its DisruptionTarget condition, in words.
    `status` is what the runtime last answered, None where it was not asked or did not answer; `progressed` is when its
    start last came further, by that answer. `told` is what Events say of it, where they were asked for.
    """

    name: str
    uid: str
    created: datetime
    revision: str = ""
    registrations: str = ""
    node: str = ""
    ip: str = ""
    phase: str = "Pending"
    phase_reason: str = ""
    phase_message: str = ""
    deleting: bool = False
    ends: datetime | None = None
    ready: bool = False
    ready_changed: datetime | None = None
    scheduled: bool = False
    scheduled_at: datetime | None = None
    scheduling_reason: str = ""
    scheduling_message: str = ""
    nominated: str = ""
    holds: Mapping[str, Decimal] = field(default_factory=dict)
    sandboxed: bool = False
    silent_node: bool = False
    disrupted: str = ""
    container: str = ""
    image: str = ""
    waiting: str = ""
    waiting_message: str = ""
    running_since: datetime | None = None
    restarts: int = 0
    ended: Ended | None = None
    last_ended: Ended | None = None
    status: RuntimeStatus | None = None
    progressed: datetime | None = None
    told: Told = field(default_factory=Told)

    @property
    def live(self) -> bool:
        """Neither being deleted nor over: one of those that the Deployment counts on."""
        return not self.deleting and self.phase not in ("Failed", "Succeeded")

    @property
    def was_ready_since_start(self) -> bool:
        """The running container was ready before, and is not any more."""
        if self.running_since is None or self.ready_changed is None or self.ready:
            return False
        return self.ready_changed > self.running_since


def pod_facts(
    obj: Mapping[str, Any],
    status: RuntimeStatus | None = None,
    progressed: datetime | None = None,
    told: Told | None = None,
) -> PodFacts:
    """Facts of a pod's JSON, which may lack what is not known yet."""
    metadata, state = obj["metadata"], obj.get("status") or {}
    conditions = {c["type"]: c for c in state.get("conditions") or ()}
    ready, placed = conditions.get("Ready", {}), conditions.get("PodScheduled", {})
    runtime = containers.runtime(state)
    found = containers.in_the_way(state) or runtime
    now: Mapping[str, Any] = found.get("state") or {}
    waiting = now.get("waiting") or {}
    running = (runtime.get("state") or {}).get("running") or {}
    deleting = "deletionTimestamp" in metadata
    return PodFacts(
        name=metadata["name"],
        uid=metadata["uid"],
        created=_required_time(metadata["creationTimestamp"]),
        revision=metadata.get("labels", {}).get(labels.REVISION, ""),
        registrations=metadata.get("annotations", {}).get(labels.REGISTRATIONS, ""),
        node=str(obj.get("spec", {}).get("nodeName") or ""),
        ip=state.get("podIP", ""),
        phase=state.get("phase", "Pending"),
        phase_reason=state.get("reason", ""),
        phase_message=state.get("message", ""),
        deleting=deleting,
        ends=time(metadata.get("deletionTimestamp")),
        ready=ready.get("status") == "True" and not deleting,
        ready_changed=time(ready.get("lastTransitionTime")),
        scheduled=placed.get("status") == "True" or bool(obj.get("spec", {}).get("nodeName")),
        scheduled_at=time(placed.get("lastTransitionTime")) if placed.get("status") == "True" else None,
        scheduling_reason=placed.get("reason", ""),
        scheduling_message=placed.get("message", ""),
        nominated=state.get("nominatedNodeName", ""),
        holds=held(obj.get("spec") or {}),
        sandboxed=conditions.get("PodReadyToStartContainers", {}).get("status") == "True",
        silent_node=not deleting and _silent_node(obj, conditions),
        disrupted=_disrupted(conditions),
        container="" if found is runtime else str(found["name"]),
        image=found.get("image", ""),
        waiting=waiting.get("reason", ""),
        waiting_message=waiting.get("message", ""),
        running_since=time(running.get("startedAt")),
        restarts=int(found.get("restartCount", 0)),
        ended=_ended(now),
        last_ended=_ended(found.get("lastState") or {}),
        status=status,
        progressed=progressed,
        told=told or Told(),
    )


def time(text: str | None) -> datetime | None:
    """A Kubernetes time, or None for an absent one."""
    return _required_time(text) if text else None


def timestamp(moment: datetime) -> str:
    """A Kubernetes time of whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _required_time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _silent_node(obj: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    """The kubelet sets both conditions alike; the control plane takes Ready alone, from pods of a node that is lost.

    Not known of a pod that has readiness gates.
    """
    said = [conditions.get(kind, {}).get("status") for kind in ("Ready", "ContainersReady")]
    return said == ["False", "True"] and not obj.get("spec", {}).get("readinessGates")


def _disrupted(conditions: Mapping[str, Any]) -> str:
    found = conditions.get("DisruptionTarget", {})
    if found.get("status") != "True":
        return ""
    return ": ".join(part for part in (found.get("reason", ""), found.get("message", "")) if part)


def _ended(state: Mapping[str, Any]) -> Ended | None:
    found = state.get("terminated")
    if not found:
        return None
    return Ended(str(found.get("reason", "")), int(found.get("exitCode", 0)), str(found.get("message", "")))
