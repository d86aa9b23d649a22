"""The work queue: which key is reconciled when. It knows nothing of Kubernetes.

A key is reconciled by one worker at a time. Adding a key that waits changes only its time (the earliest wins); adding a
key that is being reconciled makes it run once more afterwards; what watches tell of one that was reconciled just now
waits for a moment (`calm`). A change does not wait for the back-off of a key that has failed, but for the first step of
it, so that a storm of changes hammers nobody, and for what the error asked for; nor for those that are only looked at
once more, of which there may be thousands, nor for reconciles that wait (`slots`). Time is the event loop's clock.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from arriero_operator.work.backoff import Backoff
from arriero_operator.work.calm import Calm
from arriero_operator.work.keys import Key
from arriero_operator.work.lines import Waiting
from arriero_operator.work.result import Fault, Reconcile, Result, TerminalError
from arriero_operator.work.slots import Slots

_log = logging.getLogger(__name__)

LONGEST_RUN: Final = 90.0
"""Seconds after which a reconcile is given up and tried again: requests to an API server that is away wait longer."""


class Enqueue(Protocol):
    """The queue's `add`, for those that know of no time."""

    def __call__(self, key: Key, *, routine: bool = ...) -> None:
        """`routine`: nothing is known to have changed, it is only to be looked at once more."""


class Observer(Protocol):
    """Who counts what the queue does."""

    def reconciled(self, outcome: str, seconds: float) -> None:
        """`outcome` is one of success, requeue, error, fault, terminal."""


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
        self._observer = observer
        self._longest = longest
        self._slots = Slots(workers, lambda: asyncio.get_running_loop().time())
        self._waiting = Waiting(self._slots)
        self._again: dict[Key, dict[bool, float]] = {}
        """When keys that are being reconciled are to run once more, by whether that is routine."""
        self._stirred: dict[Key, dict[bool, float]] = {}
        """Since when watches have told something of keys that are being reconciled, by the same."""
        self._calm = Calm()
        self._backoff = Backoff(jitter)
        self._running: dict[Key, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._look: asyncio.Handle | None = None
        """That it is about to be looked who may begin."""
        self._alarm: asyncio.TimerHandle | None = None
        """The same when the next delayed key is due."""
        self._broken: asyncio.Future[None] | None = None
        """While `run` runs: ends with an error of the queue itself."""

    def add(self, key: Key, after: float = 0.0, *, routine: bool = False) -> None:
        """Reconcile `key` in `after` seconds, or earlier when that was already asked for.

        Later only where its last try has failed a moment ago, or with an error that asked for more time. `routine`: it
        is only to be looked at once more, which any change may overtake.
        """
        due = max(asyncio.get_running_loop().time() + after, self._backoff.until(key))
        if key not in self._running:
            self._place(key, due, routine)
            return
        again = self._again.setdefault(key, {})
        again[routine] = min(due, again.get(routine, due))

    def told(self, key: Key, *, routine: bool = False) -> None:
        """A watch has told something of `key`: as `add`, but some time after its last reconcile, with what else is told
        meanwhile."""
        now = asyncio.get_running_loop().time()
        if key in self._running:
            self._stirred.setdefault(key, {}).setdefault(routine, now)
        else:
            self._place(key, max(now, self._backoff.until(key), self._calm.until(key)), routine)

    async def run(self) -> None:
        """Work until cancelled; reconciles that are under way are then cancelled and awaited."""
        self._broken = asyncio.get_running_loop().create_future()
        self._changed()
        try:
            await self._broken
        finally:
            self._broken = None
            for handle in (self._look, self._alarm):
                if handle is not None:
                    handle.cancel()
            self._look = self._alarm = None
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def depth(self) -> int:
        """How many keys wait for a worker and are due."""
        now = asyncio.get_running_loop().time()
        return len({key for key, due in self._times() if due <= now})

    @property
    def oldest_wait(self) -> float:
        """For how many seconds the longest waiting due key has waited."""
        now = asyncio.get_running_loop().time()
        return max(0.0, now - min((due for _, due in self._times()), default=now))

    @property
    def running(self) -> int:
        """How many keys are being reconciled."""
        return len(self._running)

    @property
    def longest_run(self) -> float:
        """For how many seconds the longest reconcile under way has run."""
        now = asyncio.get_running_loop().time()
        return now - min(self._running.values(), default=now)

    def _times(self) -> Iterator[tuple[Key, float]]:
        yield from self._waiting.times()
        for again in (self._again, self._stirred):
            yield from ((key, min(times.values())) for key, times in again.items())

    def _place(self, key: Key, due: float, routine: bool) -> None:
        if self._waiting.put(key, due, routine):
            self._changed()

    def _pop(self) -> Key | None:
        """The next key that is due and for which there is a slot."""
        key = self._waiting.take(asyncio.get_running_loop().time())
        if key is not None:
            self._backoff.begin(key)
        return key

    def _changed(self) -> None:
        """Something was added or has ended: look who may begin, once for all that happens at the same time."""
        if self._look is None and self._broken is not None:
            self._look = asyncio.get_running_loop().call_soon(self._next)

    def _rang(self) -> None:
        self._alarm = None
        self._changed()

    def _next(self) -> None:
        """Begin those that may; look again when the next delayed key is due."""
        self._look = None
        try:
            while (key := self._pop()) is not None:
                self._begin(key)
            self._await(self._waiting.soonest())
        except Exception as error:
            self._break(error)

    def _await(self, due: float | None) -> None:
        if self._alarm is not None:
            if self._alarm.when() == due:
                return
            self._alarm.cancel()
        self._alarm = None if due is None else asyncio.get_running_loop().call_at(due, self._rang)

    def _break(self, error: BaseException) -> None:
        """An error in the queue itself must end the process, or a key would be lost without a word."""
        if self._broken is not None and not self._broken.done():
            self._broken.set_exception(error)

    def _begin(self, key: Key) -> None:
        loop = asyncio.get_running_loop()
        self._running[key] = loop.time()
        self._slots.begin(key)
        task = asyncio.create_task(self._work(key), name=f"reconcile {key[0]}/{key[1]}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        slow = loop.call_later(self._slots.patience, self._overstays, key)
        task.add_done_callback(lambda _: slow.cancel())

    def _overstays(self, key: Key) -> None:
        self._slots.overstay(key)
        self._changed()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._changed()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._break(error)

    async def _work(self, key: Key) -> None:
        outcome: Result | Exception
        try:
            async with asyncio.timeout(self._longest) as bound:
                outcome = await self._reconcile(key)
        except TimeoutError as error:
            outcome = TimeoutError(f"not done within {self._longest:g} s") if bound.expired() else error
        except Exception as error:
            outcome = error
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                self._running.pop(key)
                raise
            # Something that the reconcile waited for was cancelled, and not the queue: no reason to lose the key.
            outcome = RuntimeError("what it waited for was cancelled").with_traceback(error.__traceback__)
        seconds = asyncio.get_running_loop().time() - self._running[key]
        self._settle(key, outcome, seconds)
        del self._running[key]
        self._slots.end(key, seconds)
        if isinstance(outcome, Result) and outcome.gone:
            self._slots.forget(key)
        self._calm.begin(key, asyncio.get_running_loop().time())
        for routine, due in self._again.pop(key, {}).items():
            self._place(key, due, routine)
        for routine in self._stirred.pop(key, ()):
            self.told(key, routine=routine)

    def _settle(self, key: Key, outcome: Result | Exception, seconds: float) -> None:
        """The one place that decides what follows a reconcile."""
        fields, now = {"namespace": key[0], "model": key[1]}, asyncio.get_running_loop().time()
        match outcome:
            case Result(requeue_after=None):
                word = "success"
                self._backoff.over(key)
            case Result(requeue_after=float() | int() as after):
                word = "requeue"
                self._backoff.over(key)
                self.add(key, after)
            case TerminalError():
                word = "terminal"
                self._backoff.over(key)
                _log.warning("Reconcile gave up until the next change", extra={**fields, "error": str(outcome)})
            case _:
                word = "fault" if isinstance(outcome, Fault) else "error"
                after = self._backoff.failed(key, now, asked=getattr(outcome, "retry_after", 0.0))
                until = self._backoff.until(key)  # also for what was asked for while it ran
                self._again[key] = {one: max(due, until) for one, due in self._again.get(key, {}).items()}
                _log.error(
                    "Reconcile failed",
                    extra={**fields, "error": str(outcome), "retry_in": round(after, 1)},
                    exc_info=outcome if isinstance(outcome, Exception) else None,
                )
                self.add(key, after)
        self._observer.reconciled(word, seconds)
