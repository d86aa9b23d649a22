"""What is known of one pod, read from its JSON once; decisions and diagnosis work on this."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from arriero_api import labels, pod
from arriero_api.contract import RuntimeStatus
from arriero_operator import quantity


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a container."""

    reason: str
    exit_code: int
    message: str


@dataclass(frozen=True, slots=True)
class PodFacts:
    """One pod of a model.

    `holds` is what it asks for, by resource; `nominated` is the node that the scheduler or an autoscaler has in
    mind for it. `ends` is by when a pod that is being deleted has to have stopped. `waiting` and `waiting_message` are
    the container's waiting state; `ended` its current and `last_ended` its previous end; `running_since` is set while
    it runs. `ready_changed` is when the Ready condition last changed.
    `status` is what the runtime last answered, None where it was not asked or did not answer; `progressed` is when its
    start last came further, by that answer.
    """

    name: str
    uid: str
    created: datetime
    revision: str = ""
    registrations: str = ""
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
    image: str = ""
    waiting: str = ""
    waiting_message: str = ""
    running_since: datetime | None = None
    restarts: int = 0
    ended: Ended | None = None
    last_ended: Ended | None = None
    status: RuntimeStatus | None = None
    progressed: datetime | None = None

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
    obj: Mapping[str, Any], status: RuntimeStatus | None = None, progressed: datetime | None = None
) -> PodFacts:
    """Facts of a pod's JSON, which may lack what is not known yet."""
    metadata, state = obj["metadata"], obj.get("status") or {}
    conditions = {c["type"]: c for c in state.get("conditions") or ()}
    ready, placed = conditions.get("Ready", {}), conditions.get("PodScheduled", {})
    containers: Mapping[str, Any] = {c["name"]: c for c in state.get("containerStatuses") or ()}
    container = containers.get(pod.CONTAINER, {})
    now: Mapping[str, Any] = container.get("state") or {}
    waiting = now.get("waiting") or {}
    deleting = "deletionTimestamp" in metadata
    return PodFacts(
        name=metadata["name"],
        uid=metadata["uid"],
        created=_required_time(metadata["creationTimestamp"]),
        revision=metadata.get("labels", {}).get(labels.REVISION, ""),
        registrations=metadata.get("annotations", {}).get(labels.REGISTRATIONS, ""),
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
        holds=_held(obj.get("spec") or {}),
        image=container.get("image", ""),
        waiting=waiting.get("reason", ""),
        waiting_message=waiting.get("message", ""),
        running_since=time((now.get("running") or {}).get("startedAt")),
        restarts=int(container.get("restartCount", 0)),
        ended=_ended(now),
        last_ended=_ended(container.get("lastState") or {}),
        status=status,
        progressed=progressed,
    )


def time(text: str | None) -> datetime | None:
    """A Kubernetes time, or None for an absent one."""
    return _required_time(text) if text else None


def timestamp(moment: datetime) -> str:
    """A Kubernetes time of whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _required_time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _held(spec: Mapping[str, Any]) -> dict[str, Decimal]:
    """What the containers ask for together; the API server has filled in requests for limits."""
    found: dict[str, Decimal] = {}
    for container in spec.get("containers") or ():
        for name, amount in ((container.get("resources") or {}).get("requests") or {}).items():
            found[name] = found.get(name, Decimal(0)) + quantity.parse(str(amount))
    return found


def _ended(state: Mapping[str, Any]) -> Ended | None:
    found = state.get("terminated")
    if not found:
        return None
    return Ended(str(found.get("reason", "")), int(found.get("exitCode", 0)), str(found.get("message", "")))
