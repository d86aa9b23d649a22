"""Nobody waits for models that hang, nor for thousands that are only looked at once more: in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from arriero_operator.work.keys import Key
from arriero_operator.work.lines import OVERTAKEN
from arriero_operator.work.queue import LONGEST_RUN, Queue
from arriero_operator.work.result import Result
from arriero_operator.work.slots import MOST, RECOVERY, SHARE, SLOW
from tests.support.virtual_time import run_virtual

WORKERS = 4
CHANGED: Key = ("team", "changed")


def many(count: int, name: str = "slow") -> list[Key]:
    return [(name, str(number)) for number in range(count)]


class Work:
    """A reconcile that takes as long as `seconds` says for the key's namespace, else no time.

    `gone`: nothing is left of any key afterwards.
    """

    def __init__(self, **seconds: float) -> None:
        self.seconds = seconds
        self.gone = False
        self.began: list[tuple[Key, float]] = []
        self.at_once: dict[str, int] = {}
        self.most_at_once: dict[str, int] = {}

    async def __call__(self, key: Key) -> Result:
        name = key[0]
        self.began.append((key, asyncio.get_running_loop().time() - 1000))
        self.at_once[name] = self.at_once.get(name, 0) + 1
        self.most_at_once[name] = max(self.most_at_once.get(name, 0), self.at_once[name])
        try:
            await asyncio.sleep(self.seconds.get(name, 0))
        finally:
            self.at_once[name] -= 1
        return Result(gone=self.gone)

    def reconciled(self, outcome: str, seconds: float) -> None:
        """Not counted."""

    def times(self, key: Key) -> list[float]:
        """When the key was worked on."""
        return [round(when, 3) for one, when in self.began if one == key]


def play(work: Work, script: Callable[[Queue], Awaitable[None]]) -> None:
    """Run a queue while `script` lasts."""

    async def main() -> None:
        queue = Queue(work, WORKERS, work, jitter=lambda: 1.0)
        running = asyncio.create_task(queue.run())
        await script(queue)
        running.cancel()
        assert isinstance(*await asyncio.gather(running, return_exceptions=True), asyncio.CancelledError)

    run_virtual(main())


def test_twice_as_many_models_that_hang_as_there_are_workers_delay_another_by_seconds_and_later_not_at_all() -> None:
    work = Work(slow=3600)

    async def script(queue: Queue) -> None:
        for key in many(2 * WORKERS):
            queue.add(key)
        queue.add(CHANGED)
        await asyncio.sleep(LONGEST_RUN * 4.5)
        for key in many(2 * WORKERS):
            queue.add(key)
        queue.add(CHANGED)
        await asyncio.sleep(1)

    play(work, script)
    assert work.times(CHANGED) == [1.5 * SLOW, LONGEST_RUN * 4.5]


def test_two_hundred_models_that_hang_for_the_first_time_at_the_same_moment_delay_another_by_seconds() -> None:
    work = Work(slow=30)

    async def script(queue: Queue) -> None:
        for key in many(200):
            queue.add(key)
        await asyncio.sleep(0.01)
        queue.add(CHANGED)
        await asyncio.sleep(60)

    play(work, script)
    assert work.times(CHANGED)[0] <= 5


def test_models_that_only_need_more_than_their_time_beside_slow_ones_are_not_taken_for_slow() -> None:
    work = Work(slow=30, quick=0.5 * SLOW)

    async def script(queue: Queue) -> None:
        for key in (*many(40), *many(40, "quick")):
            queue.add(key)
        await asyncio.sleep(200)
        work.most_at_once.clear()
        for key in many(40, "quick"):
            queue.add(key)
        await asyncio.sleep(60)

    play(work, script)
    assert work.most_at_once["quick"] == WORKERS


def test_however_many_models_are_known_to_be_slow_they_leave_the_workers_to_the_others() -> None:
    work = Work(slow=30)

    async def script(queue: Queue) -> None:
        for key in many(200):
            queue.add(key)
        await asyncio.sleep(1000)
        work.most_at_once.clear()
        work.began.clear()
        for key in many(200):
            queue.add(key)
        await asyncio.sleep(10)
        for number in range(50):
            queue.add((CHANGED[0], str(number)))
        await asyncio.sleep(1000)

    play(work, script)
    assert max(when for key, when in work.began if key[0] == CHANGED[0]) == 1010
    assert work.most_at_once["slow"] == SHARE
    assert len(work.began) == 250


def test_a_server_that_hangs_for_everybody_is_asked_by_a_bounded_number_at_once() -> None:
    work = Work(slow=80)

    async def script(queue: Queue) -> None:
        for key in many(500):
            queue.add(key)
        await asyncio.sleep(75)

    play(work, script)
    assert work.most_at_once["slow"] == MOST + WORKERS


class OneByOne(Work):
    """A server that does one thing after another, as one that makes Services does. It stands still for `stall` seconds
    after a minute."""

    def __init__(self, seconds: float, stall: float) -> None:
        super().__init__()
        self.most = 0
        self.longest = 0.0
        self._seconds, self._stall = seconds, stall
        self._one = asyncio.Lock()
        self._waiting = 0

    async def __call__(self, key: Key) -> Result:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        self._waiting += 1
        self.most = max(self.most, self._waiting)
        async with self._one:
            stalls, self._stall = begun >= 1060 and self._stall, self._stall * (begun < 1060)
            await asyncio.sleep(stalls or self._seconds)
        self._waiting -= 1
        self.longest = max(self.longest, loop.time() - begun)
        self.began.append((key, begun - 1000))
        return Result()


def test_a_server_that_stands_still_for_some_seconds_is_not_asked_by_more_and_more_afterwards() -> None:
    work = OneByOne(seconds=0.07, stall=4)

    async def script(queue: Queue) -> None:
        for key in many(3000):
            queue.add(key)
        await asyncio.sleep(65)
        most, work.most = work.most, 0
        assert most > 5 * WORKERS, "who waits for a server that stands still does not hold up others"
        await asyncio.sleep(20)
        work.most, work.longest = 0, 0.0
        await asyncio.sleep(200)

    play(work, script)
    assert len(work.began) == 3000
    assert work.most == WORKERS
    assert work.longest < SLOW


def test_places_that_are_held_back_come_back_by_time_though_nothing_ends_and_nothing_is_added() -> None:
    work, surplus = Work(slow=80, sign=3), 40

    async def script(queue: Queue) -> None:
        for key in many(surplus):
            queue.add(key)
        await asyncio.sleep(20)
        queue.add(("sign", "a"))
        await asyncio.sleep(3.01)
        queue.add(CHANGED)
        await asyncio.sleep(10)

    play(work, script)
    assert work.times(CHANGED) == [pytest.approx(23 + (surplus - WORKERS) / RECOVERY, abs=0.01)]


def test_a_model_that_was_slow_is_among_the_others_again_once_it_is_quick() -> None:
    work = Work(slow=30)

    async def script(queue: Queue) -> None:
        for key in many(100):
            queue.add(key)
        await asyncio.sleep(500)
        work.seconds["slow"] = 0.5
        for share in (SHARE, WORKERS):
            work.most_at_once.clear()
            for key in many(100):
                queue.add(key)
            await asyncio.sleep(100)
            assert work.most_at_once["slow"] == share

    play(work, script)
    assert len(work.began) == 300


def test_what_comes_under_the_name_of_a_slow_model_that_is_gone_is_not_taken_for_slow() -> None:
    work, count = Work(slow=30), SHARE + WORKERS

    async def script(queue: Queue) -> None:
        for gone in (False, True, False):
            work.gone = gone
            work.most_at_once.clear()
            for key in many(count):
                queue.add(key)
            await asyncio.sleep(100)
            assert work.most_at_once["slow"] == (SHARE if gone else count)

    play(work, script)
    assert len(work.began) == 3 * count


def test_a_change_does_not_wait_for_thousands_that_are_only_looked_at_once_more() -> None:
    work = Work(rest=0.02)

    async def script(queue: Queue) -> None:
        for key in many(5000, "rest"):
            queue.add(key, routine=True)
        await asyncio.sleep(3.01)
        queue.add(CHANGED)
        queue.add(many(5000, "rest")[-1])
        await asyncio.sleep(60)

    play(work, script)
    assert work.times(CHANGED)[0] <= 3.05
    assert [when <= 3.05 for when in work.times(many(5000, "rest")[-1])] == [True], "a change uses the routine look up"
    assert len(work.began) == 5001


def test_a_routine_look_is_overtaken_for_a_while_and_not_for_ever() -> None:
    work, routine = Work(before=0.5, busy=0.5), ("rest", "a")

    async def script(queue: Queue) -> None:
        for key in many(50, "before"):
            queue.add(key)
        queue.add(routine, routine=True)
        for key in many(1500, "busy"):  # twice as many as the workers can do
            queue.add(key)
            await asyncio.sleep(0.0625)
        await asyncio.sleep(400)

    play(work, script)
    order = [key for key, _ in work.began]
    overtook = [int(key[1]) for key in order[: order.index(routine)] if key[0] == "busy"]
    assert 0.0625 * (max(overtook) + 1) == OVERTAKEN


def test_a_change_and_a_routine_look_that_come_while_a_key_runs_make_it_run_once_more() -> None:
    work = Work(team=0.5)

    async def script(queue: Queue) -> None:
        queue.add(CHANGED)
        await asyncio.sleep(0.1)
        queue.add(CHANGED, routine=True)
        queue.add(CHANGED)
        assert queue.depth == 1
        await asyncio.sleep(60)

    play(work, script)
    assert work.times(CHANGED) == [0, 0.5]
