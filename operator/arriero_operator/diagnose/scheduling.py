"""Why a pod has no node or does not exist at all, from the scheduler's, the quota's and the API server's words."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from arriero_api.contract import Failure
from arriero_operator import quantity
from arriero_operator.diagnose.failures import failure
from arriero_operator.pods.facts import PodFacts

_ACCELERATOR: Final = re.compile(r"Insufficient ([a-z0-9.-]+\.[a-z0-9-]+/[A-Za-z0-9._-]+)")
_CLAIM: Final = re.compile(
    r"persistentvolumeclaim \"[^\"]+\"|unbound immediate PersistentVolumeClaims|volume node affinity conflict"
    r"|persistent volumes? to bind|bound to non-existent pv|exceed max volume count",
    re.IGNORECASE,
)
_COULD_FIT: Final = "No preemption victims found"
_NEVER_FITS: Final = "Preemption is not helpful"
_NOT_SAID: Final = "not eligible due to"
"""The pod may not preempt, by its priority class: so the scheduler has not looked whether that would help."""
_BYTES: Final = ("memory", "ephemeral-storage")
_QUOTA: Final = "exceeded quota"
_INVALID: Final = " is invalid: "
"""The content is wrong; all else that keeps a pod from being made may pass."""
_INSUFFICIENT: Final = re.compile(r"Insufficient ([A-Za-z0-9][A-Za-z0-9./_-]*[A-Za-z0-9])")
_ONE_POD_VOLUME: Final = "ReadWriteOncePod"
_POD_COUNT: Final = "Too many pods"
_QUOTA_PART: Final = re.compile(r"(requested|limited): (\S+)")


def unplaced(pod: PodFacts) -> Failure | None:
    """The scheduler has tried the pod and found no node, and nobody has promised one."""
    if not _tried(pod):
        return None
    words = pod.scheduling_message
    if not lacks_accelerators(pod) and _CLAIM.search(words):
        return failure("VolumeMountFailed", words)
    if pod.nominated or pod.told.node_coming:
        return None
    if never_fits(pod):
        return failure("AcceleratorsNeverFit", _with_amounts(pod))
    if lacks_accelerators(pod):
        return failure("AcceleratorsUnavailable", _with_amounts(pod))
    return failure("Unschedulable", _with_amounts(pod))


def lacks_accelerators(pod: PodFacts) -> bool:
    """Whether the scheduler says that no node has accelerators (left), and whether those of other pods would do."""
    words = pod.scheduling_message
    return bool(_ACCELERATOR.search(words)) and (_COULD_FIT in words or _NEVER_FITS in words)


def never_fits(pod: PodFacts) -> bool:
    """Whether the scheduler says that no node, of those that there are, has as many accelerators as it asks for."""
    return _tried(pod) and lacks_accelerators(pod) and _COULD_FIT not in pod.scheduling_message


def _tried(pod: PodFacts) -> bool:
    return not pod.scheduled and pod.scheduling_reason == "Unschedulable"


def _with_amounts(pod: PodFacts) -> str:
    """The scheduler's words, and what the pod asks for: accelerators first."""
    names = sorted(pod.holds, key=lambda name: ("/" not in name, name))
    asks = [f"{name} {quantity.written(pod.holds[name], in_bytes=name in _BYTES)}" for name in names]
    words = pod.scheduling_message
    return f"{words.rstrip('. ')}; the pod asks for {', '.join(asks)}" if asks else words


def waits_for(pod: PodFacts, holders: Iterable[PodFacts]) -> bool:
    """Whether the scheduler says that the pod would fit if another left, and one of `holders` has what it lacks.

    Where the scheduler does not say whether it would, one of `holders` must have all that is lacking.
    """
    words = pod.scheduling_message
    if not _tried(pod):
        return False
    lacking = set(_INSUFFICIENT.findall(words))
    anyway = _ONE_POD_VOLUME in words or _POD_COUNT in words
    if _COULD_FIT in words:
        return any(anyway or lacking & holder.holds.keys() for holder in holders)
    if _NOT_SAID not in words:
        return False
    return any(lacking and all(pod.holds.get(x, 0) <= one.holds.get(x, 0) for x in lacking) for one in holders)


def refused_pod(deployment: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The Deployment's condition that says that a pod could not be made."""
    conditions = ((deployment or {}).get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == "ReplicaFailure" and one["status"] == "True"), None)


def quota_refusal(deployment: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The same, where a quota is the cause that would allow the pod if others left."""
    found = refused_pod(deployment)
    words = str((found or {}).get("message", ""))
    return found if _QUOTA in words and _within(words) else None


def no_pod(deployment: Mapping[str, Any] | None) -> Failure | None:
    """The Deployment could not even create a pod."""
    found = refused_pod(deployment)
    if found is None:
        return None
    words = str(found.get("message", ""))
    if _QUOTA in words:
        return failure("QuotaExceeded", words)
    return failure("ChildRefused" if _INVALID in words else "ChildDenied", words)


def _within(words: str) -> bool:
    """Whether what a quota refused is within its limit: "requested: pods=1, used: pods=1, limited: pods=1"."""
    try:
        parts = {
            word: dict(one.split("=", 1) for one in text.rstrip(",").split(","))
            for word, text in _QUOTA_PART.findall(words)
        }
        limited = parts.get("limited", {})
        return all(
            quantity.parse(amount) <= quantity.parse(limited[name])
            for name, amount in parts.get("requested", {}).items()
            if name in limited
        )
    except ValueError:
        return True  # not the words that were expected: the attempt will tell
