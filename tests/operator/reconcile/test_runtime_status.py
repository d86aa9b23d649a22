"""Asking runtimes: bounded, in parallel, and not again too soon."""

import asyncio
from dataclasses import dataclass, field

import pytest

from arriero_api.contract import ContractError, Phase, RuntimeStatus
from arriero_operator.observing.runtime_status import RuntimeStatuses
from tests.operator.reconcile.made import running
from tests.support.eventually import eventually_async

KEY = ("team", "tiny")


@dataclass
class FakeRuntimes:
    """Answers by IP address; an address without an answer keeps silent."""

    answers: dict[str, RuntimeStatus | Exception] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def fetch(self, ip: str) -> RuntimeStatus:
        """As the network does."""
        self.asked.append(ip)
        if ip not in self.answers:
            await asyncio.Event().wait()
        answer = self.answers[ip]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def answers() -> None:
    """Wait for all questions that are under way."""
    under_way = [task for task in asyncio.all_tasks() if task.get_name().startswith("status ")]
    if under_way:
        await asyncio.wait(under_way)


async def test_a_silent_pod_delays_nobody_for_long() -> None:
    runtimes = FakeRuntimes({"10.0.0.2": RuntimeStatus(Phase.LOADING)})
    statuses = RuntimeStatuses(runtimes.fetch)
    silent, answering = running("a", ip="10.0.0.1"), running("b", ip="10.0.0.2")
    began = asyncio.get_running_loop().time()
    await statuses.refresh(KEY, [(silent, 1.0), (answering, 1.0)])
    assert asyncio.get_running_loop().time() - began < 0.9
    assert statuses.known(KEY, silent) is None
    assert statuses.known(KEY, answering) == RuntimeStatus(Phase.LOADING)
    await eventually_async(lambda: statuses.silent(KEY, silent) == 1)
    statuses.retain(KEY, ())


async def test_a_pod_is_asked_again_only_when_its_answer_is_old() -> None:
    now = 100.0
    runtimes = FakeRuntimes({"10.0.0.1": RuntimeStatus(Phase.LOADING)})
    statuses = RuntimeStatuses(runtimes.fetch, lambda: now)
    pod = running("a", ip="10.0.0.1")
    await statuses.refresh(KEY, [(pod, 1.0)])
    await statuses.refresh(KEY, [(pod, 1.0)])
    assert len(runtimes.asked) == 1
    now += 1.0
    await statuses.refresh(KEY, [(pod, 1.0)])
    assert len(runtimes.asked) == 2


async def test_a_pod_that_gives_no_answer_is_asked_less_and_less() -> None:
    now = 100.0
    runtimes = FakeRuntimes({"10.0.0.1": ContractError("not JSON")})
    statuses = RuntimeStatuses(runtimes.fetch, lambda: now)
    pod = running("a", ip="10.0.0.1")
    times = []
    while now < 160:
        before = len(runtimes.asked)
        await statuses.refresh(KEY, [(pod, 0.2)])
        await answers()
        if len(runtimes.asked) > before:
            times.append(now - 100.0)
        now += 0.5
    assert times[:5] == [0.0, 1.0, 3.0, 7.0, 15.0]
    assert statuses.silent(KEY, pod) == len(times)


async def test_an_answer_does_not_outlive_the_container_that_gave_it() -> None:
    runtimes = FakeRuntimes({"10.0.0.1": RuntimeStatus(Phase.FAILED)})
    statuses = RuntimeStatuses(runtimes.fetch)
    pod = running("a", ip="10.0.0.1")
    await statuses.refresh(KEY, [(pod, 1.0)])
    assert statuses.known(KEY, pod) is not None
    assert statuses.known(KEY, running("a", ip="10.0.0.1", running_since=None)) is None


@pytest.mark.parametrize(
    "answer", [RuntimeStatus(Phase.LOADING, since_seconds=10**15), RecursionError("deep")], ids=["no time", "too deep"]
)
async def test_an_answer_that_cannot_be_taken_is_none(answer: RuntimeStatus | Exception) -> None:
    statuses = RuntimeStatuses(FakeRuntimes({"10.0.0.1": answer}).fetch)
    pod = running("a", ip="10.0.0.1")
    await statuses.refresh(KEY, [(pod, 1.0)])
    assert (statuses.known(KEY, pod), statuses.silent(KEY, pod)) == (None, 1)
