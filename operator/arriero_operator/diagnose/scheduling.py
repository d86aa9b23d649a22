"""Why a pod has no node or does not exist at all, from the scheduler's, the quota's and the API server's words."""

import re
from collections.abc import Mapping
from typing import Any, Final

from arriero_api.contract import Failure
from arriero_operator.diagnose.failures import failure
from arriero_operator.facts import PodFacts

_ACCELERATOR: Final = re.compile(r"Insufficient ([a-z0-9.-]+\.[a-z0-9-]+/[A-Za-z0-9._-]+)")
_CLAIM: Final = re.compile(r"persistentvolumeclaim \"[^\"]+\"|unbound immediate PersistentVolumeClaims")
_COULD_FIT: Final = "No preemption victims found"
_NEVER_FITS: Final = "Preemption is not helpful"
_QUOTA: Final = "exceeded quota"


def unplaced(pod: PodFacts) -> Failure | None:
    """The scheduler has tried the pod and found no node."""
    if pod.scheduled or pod.scheduling_reason != "Unschedulable":
        return None
    words = pod.scheduling_message
    if _ACCELERATOR.search(words):
        if _COULD_FIT in words:
            return failure("AcceleratorsUnavailable", words)
        if _NEVER_FITS in words:
            return failure("AcceleratorsNeverFit", words)
    if _CLAIM.search(words):
        return failure("VolumeMountFailed", words)
    return failure("Unschedulable", words)


def no_pod(deployment: Mapping[str, Any] | None) -> Failure | None:
    """The Deployment could not even create a pod."""
    conditions = ((deployment or {}).get("status") or {}).get("conditions") or ()
    for condition in conditions:
        if condition["type"] == "ReplicaFailure" and condition["status"] == "True":
            words = str(condition.get("message", ""))
            return failure("QuotaExceeded" if _QUOTA in words else "ChildRefused", words)
    return None


def evicted(pod: PodFacts) -> Failure | None:
    """The node has ended the whole pod."""
    if pod.phase != "Failed":
        return None
    if pod.phase_reason == "Evicted":
        return failure("Evicted", pod.phase_message or "the node evicted the pod")
    words = ": ".join(part for part in (pod.phase_reason, pod.phase_message) if part)
    return failure("RuntimeExited", words or "the pod failed")
