"""What a node makes of a pod that it was given: it does not set it up, refuses it, ends it, or is lost."""

import re
from typing import Final

from arriero_api.contract import Failure
from arriero_operator.diagnose.failures import failure
from arriero_operator.pods.facts import PodFacts

VOLUMES: Final = ("FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedDetachVolume")
"""Reasons of Events by which the kubelet and the volumes' controllers tell that a volume cannot be had."""
SANDBOX: Final = "FailedCreatePodSandBox"

_REFUSED: Final = re.compile(
    r"OutOf.+|UnexpectedAdmissionError|Node(Affinity|Ports|Name|Selector\w*)|\w*(Affinity|Forbidden|NotSupported)"
)
_EVICTED: Final = ("Evicted", "Preempting", "Preempted")
_SHUT_DOWN: Final = ("Terminated", "NodeShutdown", "Shutdown", "NodeLost")


def silent(pod: PodFacts) -> Failure | None:
    """The node does not report any more; nobody knows what its pod does."""
    return failure("NodeLost", f"node {pod.node} does not report any more") if pod.silent_node else None


def unsandboxed(pod: PodFacts) -> Failure | None:
    """The pod has a node, and volumes or network cannot be had there: only Events tell it."""
    if pod.sandboxed or pod.running_since is not None:
        return None
    if pod.told.reason in VOLUMES:
        return failure("VolumeMountFailed", pod.told.message)
    if pod.told.reason == SANDBOX:
        return failure("SandboxFailed", pod.told.message)
    return None


def ended(pod: PodFacts) -> Failure | None:
    """The whole pod has failed."""
    if pod.phase != "Failed":
        return None
    words = ": ".join(part for part in (pod.phase_reason, pod.phase_message) if part) or pod.disrupted
    if pod.phase_reason in _EVICTED:
        return failure("Evicted", pod.phase_message or "the node evicted the pod")
    if _REFUSED.fullmatch(pod.phase_reason):
        return failure("PodRejected", words)
    if pod.phase_reason in _SHUT_DOWN or pod.disrupted:
        return failure("NodeLost", words)
    return failure("RuntimeExited", words or "the pod failed")
