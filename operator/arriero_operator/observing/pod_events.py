"""What Events say of pods that wait: asked for only where nothing else tells why, and rarer the longer it lasts.

That a volume cannot be attached or mounted, that a sandbox cannot be made, and that an autoscaler brings a node, is
told in Events alone.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from arriero_operator.diagnose.nodes import SANDBOX, VOLUMES
from arriero_operator.diagnose.scheduling import never_fits
from arriero_operator.kube.errors import KubeError
from arriero_operator.kube.protocol import Kube, Object
from arriero_operator.pods import facts
from arriero_operator.pods.facts import PodFacts, Told
from arriero_operator.work.keys import Key

_log = logging.getLogger(__name__)

PATIENCE: Final = 8.0
"""Seconds after which a pod that has a node should have a sandbox there."""
AGAIN: Final = 5.0
_SOON: Final = 1.0
_LONGEST: Final = 30.0
"""Seconds between questions about a pod: a half of what it has waited, within these bounds."""
_RARELY: Final = 600.0
"""The longest of these for a pod that no node will do for: it may wait for days."""

_REST: Final = 10
"""How many times as long as the last answer took nobody is asked about, AGAIN at most: to find the Events of one pod
the API server reads all of its namespace; but a decision that waits for them must not be taken without."""

_PROMISED: Final = ("TriggeredScaleUp", "Nominated")
_NOT_PROMISED: Final = ("NotTriggerScaleUp", "FailedScaleUp", "FailedToScaleUpGroup", "ScaleUpTimedOut")
_SET_UP: Final = ("SuccessfulAttachVolume", "SuccessfulMountVolume")
_PASSING: Final = "failed to sync"
"""The kubelet has not seen a ConfigMap or Secret yet, and does so within moments."""


@dataclass(slots=True)
class _Heard:
    told: Told
    again: float
    """When to ask next."""


@dataclass(slots=True)
class PodEvents:
    """The last answers about all pods that were asked about, by model."""

    kube: Kube
    clock: Callable[[], float] = time.monotonic
    _heard: dict[Key, dict[str, _Heard]] = field(default_factory=dict)
    _free: float = float("-inf")
    """From when on the next question may be asked."""

    def known(self, key: Key, uid: str) -> Told:
        """What was last heard of the pod."""
        found = self._heard.get(key, {}).get(uid)
        return found.told if found is not None else Told()

    async def refresh(self, key: Key, pods: Sequence[PodFacts], moment: datetime) -> float | None:
        """Ask about pods that wait for what only Events tell; how soon to ask again (seconds)."""
        known, kept = self._heard.pop(key, {}), {}
        waits: list[float] = []
        unfit = _unfit(pods)
        for pod, since in _waiting(pods, [alike[0] for alike in unfit]):
            waited = (moment - since).total_seconds()
            patience = PATIENCE if pod.scheduled else 0.0
            if waited < patience:
                waits.append(patience - waited)
                continue
            heard = known.get(pod.uid)
            if (heard is None or self.clock() >= heard.again) and self.clock() >= self._free:
                found = await self._ask(key[0], pod, heard.told if heard else Told())
                longest = _RARELY if unfit and not pod.scheduled else _LONGEST
                heard = _Heard(found, self.clock() + min(longest, max(AGAIN, waited / 2)))
            if heard is not None:
                kept[pod.uid] = heard
            waits.append(self._wait(heard))
        for alike in unfit:
            if (first := kept.get(alike[0].uid)) is not None:
                kept |= {pod.uid: first for pod in alike}
        if kept:
            self._heard[key] = kept
        return min(waits, default=None)

    def _wait(self, heard: _Heard | None) -> float:
        """How soon to ask about a pod (again), in seconds; one that could not be asked about has its turn soon."""
        due = (heard.again if heard else 0.0) - self.clock()
        return due if due > 0 else min(AGAIN, max(_SOON, self._free - self.clock()))

    async def _ask(self, namespace: str, pod: PodFacts, before: Told) -> Told:
        """Nothing else waits for an answer that does not come: what was heard `before` stands."""
        began, self._free = self.clock(), float("inf")
        try:
            return told(await self.kube.events_about(namespace, pod.uid))
        except KubeError as error:
            _log.warning("Events not read", extra={"pod": pod.name, "error": error.message})
            return before
        finally:
            now = self.clock()
            self._free = now + min(AGAIN, _REST * (now - began))

    def forget(self, key: Key) -> None:
        """The model is gone."""
        self._heard.pop(key, None)


def told(events: Iterable[Object]) -> Told:
    """What the Events of one pod say by now: of each matter the newest counts."""
    found = sorted((one for one in events if _PASSING not in _words(one)), key=_when)
    volumes = [one for one in found if one.get("reason") in (*VOLUMES, *_SET_UP, SANDBOX)]
    nodes = [one["reason"] for one in found if one.get("reason") in (*_PROMISED, *_NOT_PROMISED)]
    last = volumes[-1] if volumes and volumes[-1]["reason"] not in _SET_UP else {}
    return Told(str(last.get("reason", "")), _words(last), node_coming=bool(nodes) and nodes[-1] in _PROMISED)


def _waiting(pods: Sequence[PodFacts], unfit: Sequence[PodFacts]) -> Iterable[tuple[PodFacts, datetime]]:
    """Pods that have a node and no sandbox there; pods without a node beside one that has: it might be taken down for
    them, also in a restart, in which all are of one revision; and those of `unfit`."""
    placed = _placed(pods)
    for pod in pods:
        if not pod.live or pod.running_since is not None or pod.sandboxed:
            continue
        if pod.scheduled and pod.waiting in ("", "ContainerCreating", "PodInitializing"):
            yield pod, pod.scheduled_at or pod.created
        elif not pod.scheduled and pod.scheduling_reason == "Unschedulable" and (placed or pod in unfit):
            yield pod, pod.created


def _unfit(pods: Sequence[PodFacts]) -> list[list[PodFacts]]:
    """Pods of a model without any node, of which it is to be told that no node will do, by revision: those of one ask
    for the same, so that the oldest is asked about for all of them."""
    found: dict[str, list[PodFacts]] = {}
    if not _placed(pods):
        for pod in sorted(
            (pod for pod in pods if pod.live and never_fits(pod)), key=lambda pod: (pod.created, pod.name)
        ):
            found.setdefault(pod.revision, []).append(pod)
    return list(found.values())


def _placed(pods: Sequence[PodFacts]) -> bool:
    return any(pod.live and pod.scheduled for pod in pods)


def _words(event: Mapping[str, Any]) -> str:
    return str(event.get("message") or event.get("note") or "")


def _when(event: Object) -> tuple[datetime, str]:
    """Of its last occurrence; Events of either API keep it in their own place."""
    series = event.get("series") or {}
    texts = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    made = event["metadata"].get("creationTimestamp", "1970-01-01T00:00:00Z")
    moment = next((text for text in texts if text), made)
    found = facts.time(moment)
    assert found is not None
    return found, str(event["metadata"].get("name", ""))
