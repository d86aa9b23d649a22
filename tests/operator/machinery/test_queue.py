"""The work queue, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from arriero_operator.kube.errors import Throttled
from arriero_operator.process.health import STUCK
from arriero_operator.work.backoff import BACKOFF_CAP
from arriero_operator.work.calm import CALM
from arriero_operator.work.keys import Key
from arriero_operator.work.queue import LONGEST_RUN, Queue
from arriero_operator.work.result import Result, TerminalError
from tests.support.virtual_time import run_virtual

A: Key = ("team", "a")
B: Key = ("team", "b")
C: Key = ("team", "c")


class Work:
    """A reconcile that takes `seconds`, and answers what `answers` holds next, at last success."""

    def __init__(self, seconds: float = 0.0, answers: list[Result | Exception] | None = None) -> None:
        self.seconds = seconds
        self.answers = list(answers or [])
        self.began: list[tuple[Key, float]] = []
        self.under_way: list[Key] = []
        self.most_at_once = 0
        self.outcomes: list[str] = []

    async def __call__(self, key: Key) -> Result:
        assert key not in self.under_way
        self.under_way.append(key)
        self.most_at_once = max(self.most_at_once, len(self.under_way))
        self.began.append((key, asyncio.get_running_loop().time() - 1000))
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.under_way.remove(key)
        answer = self.answers.pop(0) if self.answers else Result()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def reconciled(self, outcome: str, seconds: float) -> None:
        assert seconds == pytest.approx(self.seconds)
        self.outcomes.append(outcome)


def play(work: Work, script: Callable[[Queue], Awaitable[None]], workers: int = 2, jitter: float = 1.0) -> None:
    """Run a queue while `script` lasts."""

    async def main() -> None:
        queue = Queue(work, workers, work, jitter=lambda: jitter)
        running = asyncio.create_task(queue.run())
        await script(queue)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtual(main())


class Waiting(Work):
    """A reconcile that waits for an API server that is away for an hour."""

    def __init__(self) -> None:
        super().__init__(seconds=3600)

    def reconciled(self, outcome: str, seconds: float) -> None:
        assert seconds == pytest.approx(LONGEST_RUN)
        self.outcomes.append(outcome)


def test_a_reconcile_that_waits_too_long_is_given_up_and_tried_again_and_the_process_stays_live() -> None:
    work = Waiting()
    longest = []

    async def script(queue: Queue) -> None:
        queue.add(A)
        for _ in range(190):
            await asyncio.sleep(1)
            longest.append(queue.longest_run)

    play(work, script)
    assert work.outcomes == ["error", "error"]
    assert [round(began, 1) for _, began in work.began] == [0, LONGEST_RUN + 0.5, 2 * LONGEST_RUN + 1.5]
    assert max(longest) <= LONGEST_RUN < STUCK


def test_a_key_added_many_times_is_reconciled_once() -> None:
    work = Work()

    async def script(queue: Queue) -> None:
        for _ in range(1000):
            queue.add(A)
        assert queue.depth == 1
        await asyncio.sleep(1)

    play(work, script)
    assert work.began == [(A, 0)]


def test_a_key_that_changes_while_it_is_reconciled_runs_exactly_once_more_and_never_twice_at_a_time() -> None:
    work = Work(seconds=5)

    async def script(queue: Queue) -> None:
        queue.add(A)
        await asyncio.sleep(1)
        queue.add(A)
        queue.add(A)
        await asyncio.sleep(60)

    play(work, script)
    assert work.began == [(A, 0), (A, 5)]


def test_no_more_keys_run_at_once_than_there_are_workers() -> None:
    work = Work(seconds=0.9)

    async def script(queue: Queue) -> None:
        for number in range(10):
            queue.add(("team", str(number)))
        await asyncio.sleep(60)

    play(work, script, workers=3)
    assert work.most_at_once == 3
    assert len(work.began) == 10


def test_keys_run_in_the_order_in_which_they_became_due() -> None:
    work = Work(seconds=1)

    async def script(queue: Queue) -> None:
        queue.add(C, after=0.5)
        queue.add(B)
        queue.add(A)
        await asyncio.sleep(60)

    play(work, script, workers=1)
    assert [key for key, _ in work.began] == [B, A, C]


def test_the_earliest_of_several_delays_wins() -> None:
    work = Work()

    async def script(queue: Queue) -> None:
        queue.add(A, after=30)
        queue.add(A, after=10)
        queue.add(A, after=20)
        await asyncio.sleep(100)

    play(work, script)
    assert work.began == [(A, 10)]


def test_a_change_overtakes_a_delay_and_uses_it_up() -> None:
    work = Work()

    async def script(queue: Queue) -> None:
        queue.add(A, after=30)
        await asyncio.sleep(5)
        queue.add(A)
        await asyncio.sleep(100)

    play(work, script)
    assert work.began == [(A, 5)]


def test_a_result_with_a_time_runs_again_after_it() -> None:
    work = Work(answers=[Result(requeue_after=7), Result()])

    async def script(queue: Queue) -> None:
        queue.add(A)
        await asyncio.sleep(100)

    play(work, script)
    assert work.began == [(A, 0), (A, 7)]
    assert work.outcomes == ["requeue", "success"]


def test_failures_back_off_doubling_up_to_a_cap_and_a_success_forgets_them() -> None:
    failures: list[Result | Exception] = [RuntimeError("no")] * 14
    work = Work(answers=[*failures, Result(requeue_after=1), RuntimeError("no"), Result()])

    async def script(queue: Queue) -> None:
        queue.add(A)
        await asyncio.sleep(3600)

    play(work, script)
    times = [when for _, when in work.began]
    waits = [round(after - before, 3) for before, after in pairwise(times)]
    assert waits[:4] == [0.5, 1, 2, 4]
    assert max(waits) == BACKOFF_CAP == waits[13]
    assert waits[14:] == [1, 0.5]


def test_jitter_shortens_a_backoff_by_at_most_a_half() -> None:
    work = Work(answers=[RuntimeError("no")])

    async def script(queue: Queue) -> None:
        queue.add(A)
        await asyncio.sleep(10)

    play(work, script, jitter=0.0)
    assert work.began == [(A, 0), (A, 0.25)]


def test_a_change_of_a_failed_key_does_not_wait_for_its_backoff() -> None:
    work = Work(answers=[RuntimeError("no")] * 8)

    async def script(queue: Queue) -> None:
        queue.add(A)
        await asyncio.sleep(40)
        queue.add(A)
        await asyncio.sleep(1)

    play(work, script)
    assert work.began[-1] == (A, 40)


def test_a_terminal_error_waits_for_the_next_change() -> None:
    work = Work(answers=[TerminalError("of no use")])

    async def script(queue: Queue) -> None:
        queue.add(A)
        await asyncio.sleep(3600)
        assert len(work.began) == 1
        queue.add(A)
        await asyncio.sleep(1)

    play(work, script)
    assert work.outcomes == ["terminal", "success"]


def test_a_failing_key_does_not_hold_up_others() -> None:
    work = Work(answers=[RuntimeError("no"), Result(), Result()])

    async def script(queue: Queue) -> None:
        queue.add(A)
        queue.add(B)
        await asyncio.sleep(0.1)
        assert work.outcomes == ["error", "success"]

    play(work, script, workers=1)


def test_the_age_of_the_longest_reconcile_is_known() -> None:
    work = Work(seconds=80)

    async def script(queue: Queue) -> None:
        assert queue.longest_run == 0
        queue.add(A)
        await asyncio.sleep(30)
        queue.add(B)
        await asyncio.sleep(10)
        assert queue.longest_run == 40
        assert queue.running == 2

    play(work, script)


def test_the_end_of_the_queue_cancels_and_awaits_what_is_under_way() -> None:
    work = Work(seconds=500)

    async def script(queue: Queue) -> None:
        queue.add(A)
        await asyncio.sleep(1)
        assert work.under_way == [A]

    play(work, script)
    assert not work.under_way
    assert not work.outcomes


def test_the_patience_that_the_api_server_asked_for_is_kept() -> None:
    work = Work(answers=[Throttled("too many requests", 429, retry_after=45)])

    async def script(queue: Queue) -> None:
        queue.add(A)
        await asyncio.sleep(44)
        assert len(work.began) == 1
        await asyncio.sleep(2)

    play(work, script)
    assert [began for _, began in work.began] == [0, 45]


def test_no_change_cuts_short_the_patience_that_was_asked_for_nor_one_that_came_while_the_key_ran() -> None:
    work = Work(seconds=1, answers=[Throttled("too many requests", 429, retry_after=45)])

    async def script(queue: Queue) -> None:
        queue.add(A)
        await asyncio.sleep(0.25)
        for _ in range(200):
            await asyncio.sleep(0.5)
            if len(work.began) < 2:
                queue.add(A)
        assert queue.depth == 0

    play(work, script)
    assert [began for _, began in work.began] == [0, 46]


def test_after_a_success_the_next_change_is_tried_at_once() -> None:
    work = Work(answers=[Throttled("too many requests", 429, retry_after=45)])

    async def script(queue: Queue) -> None:
        queue.add(A)
        await asyncio.sleep(50)
        queue.add(A)
        await asyncio.sleep(1)

    play(work, script)
    assert [began for _, began in work.began] == [0, 45, 50]


def test_a_storm_of_changes_does_not_hammer_with_a_key_that_fails() -> None:
    work = Work(answers=[RuntimeError("no")] * 100)

    async def script(queue: Queue) -> None:
        for _ in range(1000):
            queue.add(A)
            await asyncio.sleep(0.01)

    play(work, script)
    assert 10 <= len(work.began) <= 21


def test_what_watches_tell_soon_after_a_reconcile_waits_for_each_other_and_the_first_of_all_for_nobody() -> None:
    work = Work()

    async def script(queue: Queue) -> None:
        for _ in range(7):
            queue.told(A)
            await asyncio.sleep(CALM / 4)
        await asyncio.sleep(10)
        queue.told(A)
        await asyncio.sleep(10)

    play(work, script)
    assert [round(when / CALM, 2) for _, when in work.began] == [0, 1, 2, pytest.approx(1.75 + 10 / CALM)]


def test_what_a_reconcile_itself_asked_for_comes_in_time_though_what_watches_tell_waits() -> None:
    work = Work(seconds=1, answers=[Result(requeue_after=CALM / 4), Result()])

    async def script(queue: Queue) -> None:
        queue.told(A)
        await asyncio.sleep(0.5)
        queue.told(A)
        await asyncio.sleep(20)

    play(work, script)
    assert [when for _, when in work.began] == [0, 1 + CALM / 4]


def test_a_storm_of_events_of_one_key_is_reconciled_twice_a_second() -> None:
    work = Work()

    async def script(queue: Queue) -> None:
        for _ in range(1000):
            queue.told(A)
            await asyncio.sleep(0.01)

    play(work, script)
    assert len(work.began) == 10 / CALM


def test_what_watches_tell_of_a_key_while_it_runs_has_it_run_once_more_a_moment_later() -> None:
    work = Work(seconds=5)

    async def script(queue: Queue) -> None:
        queue.told(A)
        await asyncio.sleep(1)
        queue.told(A)
        queue.told(A, routine=True)
        assert queue.depth == 1
        await asyncio.sleep(60)

    play(work, script)
    assert work.began == [(A, 0), (A, 5 + CALM)]


def test_who_asks_for_a_key_does_not_wait_with_what_watches_told_of_it() -> None:
    work = Work()

    async def script(queue: Queue) -> None:
        queue.told(A)
        await asyncio.sleep(CALM / 4)
        queue.told(A)
        queue.add(A)
        await asyncio.sleep(60)

    play(work, script)
    assert work.began == [(A, 0), (A, CALM / 4)]


def test_what_watches_tell_of_a_key_cuts_no_patience_short_that_was_asked_for() -> None:
    work = Work(answers=[Throttled("too many requests", 429, retry_after=45)])

    async def script(queue: Queue) -> None:
        queue.told(A)
        for _ in range(80):
            await asyncio.sleep(0.5)
            queue.told(A)
        await asyncio.sleep(20)

    play(work, script)
    assert [began for _, began in work.began] == [0, 45]


@pytest.mark.parametrize("where", ["reconciled", "begin"])
def test_an_error_of_the_queue_itself_ends_it_and_no_key_is_lost_without_a_word(where: str) -> None:
    class Broken(Work):
        def reconciled(self, outcome: str, seconds: float) -> None:
            raise RuntimeError("broken")

    async def main() -> None:
        work = Broken() if where == "reconciled" else Work()
        queue = Queue(work, 2, work)
        if where == "begin":
            queue._slots.begin = work.reconciled  # type: ignore[assignment,method-assign]
        running = asyncio.create_task(queue.run())
        queue.add(A)
        with pytest.raises((RuntimeError, TypeError), match=r"broken|reconciled"):
            await running

    run_virtual(main())


def test_a_reconcile_that_something_else_than_the_queue_cancels_is_an_error_and_tried_again() -> None:
    class Cancelled(Work):
        async def __call__(self, key: Key) -> Result:
            result = await super().__call__(key)
            if len(self.began) == 1:
                raise asyncio.CancelledError
            return result

    work = Cancelled()

    async def script(queue: Queue) -> None:
        queue.add(A)
        await asyncio.sleep(0)
        queue.told(A)
        await asyncio.sleep(5)
        assert queue.depth == 0

    play(work, script)
    assert work.outcomes == ["error", "success"]
    assert [key for key, _ in work.began] == [A, A]


def test_what_was_added_before_the_queue_runs_is_reconciled_and_nothing_after_its_end() -> None:
    async def main() -> None:
        work = Work()
        queue = Queue(work, 2, work)
        queue.add(A)
        queue.add(B, after=1)
        running = asyncio.create_task(queue.run())
        await asyncio.sleep(0.5)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        queue.add(C)
        await asyncio.sleep(5)
        assert [key for key, _ in work.began] == [A]

    run_virtual(main())
