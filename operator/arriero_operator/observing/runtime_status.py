"""What runtimes answer to GET /status: asked in parallel, bounded, and only of pods that somebody waits for.

A reconcile waits for an answer for `WAIT` at most, and not at all where it is likely to be in vain: of a pod that has
left the last question unanswered, or soon after another one waited in vain. An answer that nobody waited for has its
model reconciled.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import aiohttp

from arriero_api.contract import ContractError, RuntimeStatus
from arriero_operator.decide.pins import Entry
from arriero_operator.pods.facts import PodFacts
from arriero_operator.work.keys import Key

TIMEOUT: Final = 1.0
WAIT: Final = 0.25
"""Seconds that one reconcile waits for answers."""
_REST: Final = 10
"""For how many times as long as somebody has waited in vain nobody waits: pods that cannot be reached come in numbers,
and each holds a worker up."""
PATIENCE: Final = 5
"""Unanswered questions after which a ready pod is taken to have no more to say."""
_AT_ONCE: Final = 256
"""Questions at the same time, of pods that answer or were not asked yet."""
_SILENT_AT_ONCE: Final = 16
"""The same of pods that have left the last one unanswered: each takes all of `TIMEOUT`, and nobody else waits."""
_SLOWEST: Final = 10.0

Fetch = Callable[[str], Awaitable[RuntimeStatus]]
"""Asks the pod at an IP address. Raises OSError, TimeoutError, aiohttp.ClientError or ContractError."""


@dataclass(slots=True)
class _Asked:
    """One container start of a pod: the last answer, and when it was last asked (monotonic seconds)."""

    since: datetime | None
    status: RuntimeStatus | None = None
    progressed: datetime | None = None
    silent: int = 0
    last: float = float("-inf")
    task: asyncio.Task[None] | None = None
    late: bool = False
    """Nobody waits for the answer that is under way."""


@dataclass(slots=True)
class RuntimeStatuses:
    """The last answers of all pods that were asked, by model."""

    fetch: Fetch
    clock: Callable[[], float] = time.monotonic
    changed: Callable[[Key], None] = lambda key: None
    """Called with the key of a model of which a pod has answered after its reconcile."""
    _patient: float = float("-inf")
    """From when on somebody waits again."""
    _asked: dict[Key, dict[str, _Asked]] = field(default_factory=dict)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    _silent_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_SILENT_AT_ONCE))

    def known(self, key: Key, pod: PodFacts) -> RuntimeStatus | None:
        """The last answer of the pod's running container."""
        found = self._asked.get(key, {}).get(pod.uid)
        return found.status if found is not None and found.since == pod.running_since else None

    def progressed(self, key: Key, pod: PodFacts) -> datetime | None:
        """When the start of the pod's running container last came further, by its last answer."""
        found = self._asked.get(key, {}).get(pod.uid)
        return found.progressed if found is not None and found.since == pod.running_since else None

    def silent(self, key: Key, pod: PodFacts) -> int:
        """How many questions in a row the pod's running container has left unanswered."""
        found = self._asked.get(key, {}).get(pod.uid)
        return found.silent if found is not None and found.since == pod.running_since else 0

    def held(self, key: Key, pod: PodFacts) -> float:
        """Seconds that lie between two questions to the pod at least."""
        return _hold(self.silent(key, pod))

    async def refresh(self, key: Key, pods: Sequence[tuple[PodFacts, float]]) -> None:
        """Ask each of `pods` that was not asked for its seconds; wait at most `WAIT` for the answers."""
        if not pods:
            return
        entries = self._asked.setdefault(key, {})
        asked: list[_Asked] = []
        for pod, interval in pods:
            one = entries.get(pod.uid)
            if one is None or one.since != pod.running_since:
                one = entries[pod.uid] = _Asked(pod.running_since)
            if one.task is None and self.clock() - one.last >= max(interval, _hold(one.silent)):
                one.late = False
                one.task = asyncio.create_task(self._ask(key, one, pod.ip), name=f"status {pod.name}")
            asked.append(one)
        await self._wait([one.task for one in asked if one.task is not None and not one.silent])
        for one in asked:
            one.late = one.task is not None

    async def _wait(self, tasks: Collection[asyncio.Task[None]]) -> None:
        if not tasks or self.clock() < self._patient:
            return
        _, late = await asyncio.wait(tasks, timeout=WAIT)
        if late:
            self._patient = self.clock() + _REST * WAIT

    def doubt(self, key: Key, lasting: Mapping[str, Collection[Entry]]) -> bool:
        """What these pods, by uid, said of their registrations does not count any more, nor what is still on its way.

        What they said of `lasting` adapters does. True where anything was known or asked.
        """
        entries = self._asked.get(key, {})
        doubted = entries.keys() & lasting.keys()
        for uid in doubted:
            _cancel(entries[uid])
            entries[uid] = replace(entries[uid], status=_without(entries[uid].status, lasting[uid]), task=None)
        return bool(doubted)

    def retain(self, key: Key, uids: Iterable[str]) -> None:
        """Forget pods of the model that are gone."""
        kept = set(uids)
        entries = self._asked.get(key, {})
        for uid in [uid for uid in entries if uid not in kept]:
            _cancel(entries.pop(uid))
        if not entries:
            self._asked.pop(key, None)

    async def _ask(self, key: Key, one: _Asked, ip: str) -> None:
        try:
            async with self._silent_slots if one.silent else self._slots, asyncio.timeout(TIMEOUT):
                status = await self.fetch(ip)
            one.progressed = datetime.now(UTC) - timedelta(seconds=status.since_seconds)
            one.status, one.silent = status, 0
            if one.late:
                self.changed(key)
        except (OSError, TimeoutError, aiohttp.ClientError, ContractError, OverflowError, RecursionError):
            # The last two: what no time can be, or nobody can read, is as good as no answer.
            one.silent += 1
        finally:
            one.last = self.clock()
            one.task = None


def _without(status: RuntimeStatus | None, lasting: Collection[Entry]) -> RuntimeStatus | None:
    if status is None:
        return None
    kept = tuple(one for one in status.adapters if (one.name, one.uri, one.revision) in lasting)
    return replace(status, registrations="", names=(), adapters=kept)


def _hold(silent: int) -> float:
    """Seconds until a pod that left `silent` questions unanswered is asked again."""
    return min(_SLOWEST, 0.5 * 2.0 ** min(silent, 8)) if silent else 0.0


def _cancel(one: _Asked) -> None:
    if one.task is not None:
        one.task.cancel()
