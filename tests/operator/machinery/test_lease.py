"""The Lease, in virtual time, on a fake that keeps one object with versions as the API server does."""

import asyncio
import copy
from collections.abc import Mapping
from typing import Any

import pytest

from arriero_operator.kube.errors import AlreadyExists, Conflict, NotFound, Unavailable
from arriero_operator.kube.protocol import Kind, Object, Objects
from arriero_operator.process.lease import Lease, LeaseLost
from tests.support.unasked import Unasked
from tests.support.virtual_time import run_virtual


class FakeLeases(Unasked):
    """One Lease; requests fail while `down`. Fake of the API server's edge."""

    def __init__(self) -> None:
        self.lease: Object | None = None
        self.down = False
        self.slow = 0.0
        self.writes: list[Object] = []

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        await self._reach()
        if self.lease is None:
            raise NotFound("no lease", 404)
        return copy.deepcopy(self.lease)

    async def create(self, kind: Kind, obj: Object) -> Object:
        await self._reach()
        if self.lease is not None:
            raise AlreadyExists("a lease", 409)
        return self._store({**obj, "metadata": {**obj["metadata"], "resourceVersion": "0"}})

    async def merge_patch(self, kind: Kind, namespace: str, name: str, patch: Mapping[str, Any]) -> Object:
        await self._reach()
        if self.lease is None:
            raise NotFound("no lease", 404)
        if patch["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise Conflict("changed meanwhile", 409)
        return self._store({**self.lease, "spec": {**self.lease["spec"], **patch["spec"]}})

    async def list(
        self, kind: Kind, namespace: str | None = None, labels: str = "", metadata_only: bool = False
    ) -> Objects:
        raise AssertionError("the lease needs no lists")

    async def apply(
        self, kind: Kind, obj: Object, *, manager: str, force: bool = True, subresource: str = ""
    ) -> Object:
        raise AssertionError("the lease is not applied")

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> None:
        raise AssertionError("the lease is not deleted")

    @property
    def holder(self) -> str:
        return "" if self.lease is None else str(self.lease["spec"]["holderIdentity"])

    async def _reach(self) -> None:
        await asyncio.sleep(self.slow)
        if self.down:
            raise Unavailable("no answer")

    def _store(self, obj: Object) -> Object:
        version = str(int(obj["metadata"]["resourceVersion"]) + 1)
        self.lease = {**obj, "metadata": {**obj["metadata"], "resourceVersion": version}}
        self.writes.append(self.lease["spec"])
        return copy.deepcopy(self.lease)


def candidate(fake: FakeLeases, identity: str) -> Lease:
    return Lease(fake, "ops", "arriero-operator", identity)


async def elapsed(until: asyncio.Task[Any]) -> float:
    """Virtual seconds until the task ends."""
    began = asyncio.get_running_loop().time()
    await asyncio.wait([until])
    return asyncio.get_running_loop().time() - began


def test_the_first_one_gets_it_at_once_and_keeps_it_by_one_write_each_two_seconds() -> None:
    async def main() -> None:
        fake = FakeLeases()
        lease = candidate(fake, "a")
        await lease.acquire()
        assert lease.held
        keeping = asyncio.create_task(lease.keep())
        await asyncio.sleep(61)
        assert fake.holder == "a"
        assert len(fake.writes) == 1 + 30
        keeping.cancel()

    run_virtual(main())


def test_another_waits_for_the_whole_duration_after_the_last_renewal_it_saw() -> None:
    async def main() -> None:
        fake = FakeLeases()
        first, second = candidate(fake, "a"), candidate(fake, "b")
        await first.acquire()
        taking = asyncio.create_task(second.acquire())
        assert 10 <= await elapsed(taking) <= 12
        assert fake.holder == "b"
        assert fake.writes[-1]["leaseTransitions"] == 1

    run_virtual(main())


def test_another_never_takes_it_while_it_is_renewed() -> None:
    async def main() -> None:
        fake = FakeLeases()
        first, second = candidate(fake, "a"), candidate(fake, "b")
        await first.acquire()
        keeping = asyncio.create_task(first.keep())
        taking = asyncio.create_task(second.acquire())
        await asyncio.sleep(3600)
        assert fake.holder == "a"
        assert not second.held
        for task in (keeping, taking):
            task.cancel()

    run_virtual(main())


def test_a_release_does_not_wait_for_an_api_server_that_is_away_for_longer_than_the_lease_lasts() -> None:
    async def main() -> None:
        fake = FakeLeases()
        lease = candidate(fake, "a")
        await lease.acquire()
        fake.slow = 3600.0
        assert await elapsed(asyncio.create_task(lease.release())) <= 10
        assert not lease.held

    run_virtual(main())


def test_a_release_hands_it_over_within_one_retry() -> None:
    async def main() -> None:
        fake = FakeLeases()
        first, second = candidate(fake, "a"), candidate(fake, "b")
        await first.acquire()
        taking = asyncio.create_task(second.acquire())
        await asyncio.sleep(1)
        await first.release()
        assert await elapsed(taking) <= 2
        assert fake.holder == "b"

    run_virtual(main())


@pytest.mark.parametrize("trouble", ["down", "slow"])
def test_a_holder_that_cannot_renew_gives_up_before_another_may_take_it(trouble: str) -> None:
    async def main() -> None:
        fake = FakeLeases()
        first = candidate(fake, "a")
        await first.acquire()
        keeping = asyncio.create_task(first.keep())
        await asyncio.sleep(1)
        fake.down, fake.slow = trouble == "down", 100.0 if trouble == "slow" else 0.0
        assert await elapsed(keeping) <= 8
        assert not first.held
        with pytest.raises(LeaseLost, match="not renewed in time"):
            keeping.result()

    run_virtual(main())


def test_a_short_trouble_loses_nothing() -> None:
    async def main() -> None:
        fake = FakeLeases()
        first = candidate(fake, "a")
        await first.acquire()
        keeping = asyncio.create_task(first.keep())
        for _ in range(10):
            fake.down = True
            await asyncio.sleep(3)
            fake.down = False
            await asyncio.sleep(5)
        assert first.held
        keeping.cancel()

    run_virtual(main())


def test_a_holder_that_finds_another_in_its_place_ends_at_once() -> None:
    async def main() -> None:
        fake = FakeLeases()
        first = candidate(fake, "a")
        await first.acquire()
        keeping = asyncio.create_task(first.keep())
        await asyncio.sleep(1)
        assert fake.lease is not None
        fake._store({**fake.lease, "spec": {**fake.lease["spec"], "holderIdentity": "b"}})
        assert await elapsed(keeping) <= 5
        with pytest.raises(LeaseLost, match="held by b"):
            keeping.result()

    run_virtual(main())


def test_a_process_that_comes_back_under_its_name_need_not_wait() -> None:
    async def main() -> None:
        fake = FakeLeases()
        await candidate(fake, "a").acquire()
        again = asyncio.create_task(candidate(fake, "a").acquire())
        assert await elapsed(again) == 0

    run_virtual(main())


def test_a_deleted_lease_is_made_anew() -> None:
    async def main() -> None:
        fake = FakeLeases()
        first = candidate(fake, "a")
        await first.acquire()
        keeping = asyncio.create_task(first.keep())
        fake.lease = None
        await asyncio.sleep(5)
        assert fake.holder == "a"
        keeping.cancel()

    run_virtual(main())


def test_of_two_that_start_together_one_gets_it() -> None:
    async def main() -> None:
        fake = FakeLeases()
        fake.slow = 0.1
        both = [candidate(fake, "a"), candidate(fake, "b")]
        tasks = [asyncio.create_task(lease.acquire()) for lease in both]
        await asyncio.sleep(3)
        assert [lease.held for lease in both].count(True) == 1
        for task in tasks:
            task.cancel()

    run_virtual(main())


def test_a_release_never_takes_it_from_another() -> None:
    async def main() -> None:
        fake = FakeLeases()
        first, second = candidate(fake, "a"), candidate(fake, "b")
        await first.acquire()
        await second.acquire()
        await first.release()
        assert fake.holder == "b"

    run_virtual(main())
