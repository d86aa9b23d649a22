"""The work queue: which key is reconciled when. It knows nothing of Kubernetes.

A key is reconciled by one worker at a time. Adding a key that waits changes only its time (the earliest wins); adding a
key that is being reconciled makes it run once more afterwards. A change does not wait for the back-off of a key that
has failed, but for the first step of it, so that a storm of changes hammers nobody, and for what the error asked for.
Time is the event loop's clock.
"""

import asyncio
import heapq
import itertools
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

from arriero_operator.keys import Key

_log = logging.getLogger(__name__)

BACKOFF_FIRST: Final = 0.5
BACKOFF_CAP: Final = 300.0
LONGEST_RUN: Final = 90.0
"""Seconds after which a reconcile is given up and tried again: requests to an API server that is away wait longer."""


@dataclass(frozen=True, slots=True)
class Result:
    """A reconcile that succeeded. `requeue_after` is in seconds; None: not before the next change."""

    requeue_after: float | None = None


class TerminalError(Exception):
    """Trying again is of no use before the next change."""


Reconcile = Callable[[Key], Awaitable[Result]]
"""Brings one key's world into its wanted state. Any exception but TerminalError leads to another try.

One with an attribute `retry_after` (seconds) is not followed by another try before that time, whatever changes.
"""


class Observer(Protocol):
    """Who counts what the queue does."""

    def reconciled(self, outcome: str, seconds: float) -> None:
        """`outcome` is one of success, requeue, error, terminal."""


class Queue:
    """Keys that wait, keys that run, and when they run again."""

    def __init__(
        self,
        reconcile: Reconcile,
        workers: int,
        observer: Observer,
        jitter: Callable[[], float] = random.random,
        longest: float = LONGEST_RUN,
    ) -> None:
        self._reconcile = reconcile
        self._workers = workers
        self._observer = observer
        self._jitter = jitter
        self._longest = longest
        self._due: dict[Key, float] = {}
        self._not_before: dict[Key, float] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._order = itertools.count()
        self._running: dict[Key, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures: dict[Key, int] = {}
        self._changed = asyncio.Event()
        self._broken: BaseException | None = None

    def add(self, key: Key, after: float = 0.0) -> None:
        """Reconcile `key` in `after` seconds, or earlier when that was already asked for.

        Later only where its last try has failed a moment ago, or with an error that asked for more time.
        """
        due = max(asyncio.get_running_loop().time() + after, self._not_before.get(key, 0.0))
        if self._due.get(key, float("inf")) <= due:
            return
        self._due[key] = due
        if key not in self._running:
            self._push(key)

    async def run(self) -> None:
        """Work until cancelled; reconciles that are under way are then cancelled and awaited."""
        try:
            while True:
                while len(self._tasks) < self._workers and (key := self._pop()) is not None:
                    self._begin(key)
                await self._wait()
                if self._broken:
                    raise self._broken
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def depth(self) -> int:
        """How many keys wait for a worker and are due."""
        now = asyncio.get_running_loop().time()
        return sum(due <= now for due in self._due.values())

    @property
    def oldest_wait(self) -> float:
        """For how many seconds the longest waiting due key has waited."""
        now = asyncio.get_running_loop().time()
        return max(0.0, now - min(self._due.values(), default=now))

    @property
    def running(self) -> int:
        """How many keys are being reconciled."""
        return len(self._running)

    @property
    def longest_run(self) -> float:
        """For how many seconds the longest reconcile under way has run."""
        now = asyncio.get_running_loop().time()
        return now - min(self._running.values(), default=now)

    def _push(self, key: Key) -> None:
        heapq.heappush(self._heap, (self._due[key], next(self._order), key))
        self._changed.set()

    def _pop(self) -> Key | None:
        """The next key that is due; entries that were overtaken by an earlier one are thrown away."""
        now = asyncio.get_running_loop().time()
        while self._heap:
            due, _, key = self._heap[0]
            if key in self._running or self._due.get(key) != due:
                heapq.heappop(self._heap)
            elif due > now:
                return None
            else:
                heapq.heappop(self._heap)
                del self._due[key]
                self._not_before.pop(key, None)
                return key
        return None

    async def _wait(self) -> None:
        """Until something was added or ended, or the next delayed key is due."""
        self._changed.clear()
        busy = len(self._tasks) >= self._workers
        deadline = None if busy or not self._heap else self._heap[0][0]
        try:
            async with asyncio.timeout_at(deadline):
                await self._changed.wait()
        except TimeoutError:
            return

    def _begin(self, key: Key) -> None:
        self._running[key] = asyncio.get_running_loop().time()
        task = asyncio.create_task(self._work(key), name=f"reconcile {key[0]}/{key[1]}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._changed.set()
        if not task.cancelled():
            # An error in the queue itself must end the process, or the key would be lost without a word.
            self._broken = self._broken or task.exception()

    async def _work(self, key: Key) -> None:
        outcome: Result | Exception
        try:
            async with asyncio.timeout(self._longest) as bound:
                outcome = await self._reconcile(key)
        except TimeoutError as error:
            outcome = TimeoutError(f"not done within {self._longest:g} s") if bound.expired() else error
        except Exception as error:
            outcome = error
        finally:
            began = self._running.pop(key)
        self._settle(key, outcome, asyncio.get_running_loop().time() - began)
        if key in self._due:
            self._push(key)

    def _settle(self, key: Key, outcome: Result | Exception, seconds: float) -> None:
        """The one place that decides what follows a reconcile."""
        fields = {"namespace": key[0], "model": key[1]}
        match outcome:
            case Result(requeue_after=None):
                word = "success"
                self._failures.pop(key, None)
            case Result(requeue_after=float() | int() as after):
                word = "requeue"
                self._failures.pop(key, None)
                self.add(key, after)
            case TerminalError():
                word = "terminal"
                self._failures.pop(key, None)
                _log.warning("Reconcile gave up until the next change", extra={**fields, "error": str(outcome)})
            case _:
                word = "error"
                asked = getattr(outcome, "retry_after", 0.0)
                after = max(self._backoff(key), asked)
                self._hold(key, max(asked, min(after, BACKOFF_FIRST)))
                _log.error(
                    "Reconcile failed",
                    extra={**fields, "error": str(outcome), "retry_in": round(after, 1)},
                    exc_info=outcome if isinstance(outcome, Exception) else None,
                )
                self.add(key, after)
        self._observer.reconciled(word, seconds)

    def _hold(self, key: Key, seconds: float) -> None:
        """Nothing runs the key before, neither what was asked for while it ran."""
        self._not_before[key] = asyncio.get_running_loop().time() + seconds
        if key in self._due:
            self._due[key] = max(self._due[key], self._not_before[key])

    def _backoff(self, key: Key) -> float:
        """Seconds until the next try: doubled with each failure up to the cap, then between half and all of it."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay: float = min(BACKOFF_CAP, BACKOFF_FIRST * 2 ** min(failures, 20))
        return delay * (0.5 + 0.5 * self._jitter())
