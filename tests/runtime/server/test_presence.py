"""A stream whose client leaves is ended; what is no stream yet sees to it itself."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from arriero_runtime.engine.protocol import Message
from arriero_runtime.server.presence import Presence, listened


class Client:
    """FAKE: the server's side of a connection."""

    def __init__(self) -> None:
        self.left = asyncio.Event()
        self.asked = asyncio.Event()

    async def receive(self) -> Message:
        self.asked.set()
        await self.left.wait()
        return {"type": "http.disconnect"}


class Work:
    """Goes on until it is cancelled."""

    def __init__(self) -> None:
        self.cancelled = False

    async def __call__(self) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


async def run(client: Client, work: Callable[[], Awaitable[None]], *, streams: bool = True) -> None:
    async with Presence(client.receive) as presence:
        if streams:
            presence.listen()
        await work()


async def test_a_stream_is_cancelled_when_its_client_leaves_and_nothing_is_raised() -> None:
    client, work = Client(), Work()
    running = asyncio.ensure_future(run(client, work))
    await client.asked.wait()
    assert not work.cancelled
    client.left.set()
    await asyncio.wait_for(running, 5)
    assert work.cancelled


async def test_nobody_is_listened_for_before_a_stream_begins() -> None:
    client, work = Client(), Work()
    client.left.set()
    running = asyncio.ensure_future(run(client, work, streams=False))
    done, _ = await asyncio.wait({running}, timeout=0.05)
    assert not done
    assert not client.asked.is_set()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_cancellation_from_outside_goes_through() -> None:
    client, work = Client(), Work()
    running = asyncio.ensure_future(run(client, work))
    await client.asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize("error", [TimeoutError("its own"), RuntimeError("broken")])
async def test_errors_of_the_work_are_its_own(error: Exception) -> None:
    async def broken() -> None:
        raise error

    with pytest.raises(type(error)) as found:
        await run(Client(), broken)
    assert found.value is error


async def test_after_the_end_of_a_stream_nobody_listens_any_more() -> None:
    client = Client()
    tasks = asyncio.all_tasks()
    async with Presence(client.receive) as presence:
        presence.listen()
        await client.asked.wait()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == tasks


def test_the_application_is_told_that_it_need_not_listen() -> None:
    scope = {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}}
    assert listened(scope)["asgi"] == {"version": "3.0", "spec_version": "2.4"}
    assert scope["asgi"] == {"version": "3.0", "spec_version": "2.3"}
