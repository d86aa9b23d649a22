"""Pods that the node has ended as a whole: how soon the next one is made, and which of them are removed. Pure.

Kubernetes makes the next one at once, for ever, and leaves the failed ones: thousands, where a node refuses each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from arriero_operator.pods.facts import PodFacts

KEPT: Final = 5
"""Failed pods of the applied revision that are kept to be counted and looked at, until all wanted pods are ready."""
REPEATED: Final = 3
"""Failed pods of a revision after which it is taken to go on so."""
_WAITS: Final = (0, 10, 40, 160, 300)
"""Seconds between a failed pod and the next one, by how many have failed."""


@dataclass(frozen=True, slots=True)
class Hold:
    """So many pods are asked for up to that time: those that have come as far as a sandbox, where images are pulled."""

    replicas: int
    until: datetime


def failed(pods: Sequence[PodFacts], revision: str) -> list[PodFacts]:
    """The failed pods of the revision, the youngest first."""
    found = [pod for pod in pods if pod.phase == "Failed" and pod.revision == revision and not pod.deleting]
    return sorted(found, key=lambda pod: (pod.created, pod.name), reverse=True)


def hold(pods: Sequence[PodFacts], revision: str, replicas: int, moment: datetime) -> Hold | None:
    """Whether fewer pods than wanted are asked for, so that they do not fail one after the other at once.

    Not while pods are being replaced: a revision that goes on so is given up instead.
    """
    ended = failed(pods, revision)
    live = [pod for pod in pods if pod.live]
    if not ended or any(pod.revision != revision for pod in live):
        return None
    until = ended[0].created + timedelta(seconds=_WAITS[min(len(ended), len(_WAITS)) - 1])
    running = sum(pod.ready or pod.sandboxed or pod.running_since is not None for pod in live)
    return Hold(running, until) if moment < until and running < replicas else None


def surplus(pods: Sequence[PodFacts], revision: str, replicas: int) -> list[PodFacts]:
    """Failed pods that nobody needs any more."""
    complete = sum(pod.ready and pod.revision == revision for pod in pods) >= replicas
    kept = {pod.uid for pod in failed(pods, revision)[:KEPT]} if not complete else set()
    return [pod for pod in pods if pod.phase == "Failed" and not pod.deleting and pod.uid not in kept]
