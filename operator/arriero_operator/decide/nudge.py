"""A pod that a quota has refused is tried again as soon as there is room."""

import hashlib
from typing import Final

from arriero_api import labels
from arriero_api.numbers import whole
from arriero_operator.decide.turnover import Turnover
from arriero_operator.diagnose import scheduling

_NUDGES: Final = 8


def nudged(t: Turnover) -> tuple[str, float | None]:
    """A value that changes when a pod that a quota refused may be tried again; seconds until the next change.

    The ReplicaSet backs off for minutes, but tries at once when the Deployment changes. The quota learns of an ended
    pod with a delay, so that there are several tries, each later than the one before.
    """
    before = t.annotations.get(labels.NUDGE, "")
    refused = scheduling.quota_refusal(t.deployment)
    if refused is None or t.terminating or len(t.live) >= t.replicas:
        return before, None
    pods = hashlib.sha256(" ".join(sorted(pod.uid for pod in t.live)).encode()).hexdigest()[:8]
    known, number, at = [*before.split("."), "", "", ""][:3]
    tries, since = whole(number), whole(at)
    if known != pods or tries is None or since is None:
        return f"{pods}.1.{int(t.moment.timestamp())}", 1.0
    due = since + tries - t.moment.timestamp()
    if tries >= _NUDGES:
        return before, None
    if due > 0:
        return before, due
    return f"{pods}.{tries + 1}.{int(t.moment.timestamp())}", float(tries) + 1.0
