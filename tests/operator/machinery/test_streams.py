"""The answer of a watch when it is refused, cut or silent; the API server is a fake: a real one cannot be told to."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from arriero_operator.kube import stream
from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.errors import Expired, Forbidden, Throttled, Unavailable
from arriero_operator.kube.protocol import PODS, Scope
from tests.operator.machinery import test_retrying
from tests.operator.machinery.test_retrying import FakeApi, Start

start = test_retrying.start

LINE = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"%d"}}}\n'

End = Callable[[web.StreamResponse], Awaitable[None]]


class Streams(FakeApi):
    """Refuses with the planned codes, then tells of two versions and ends as it is told to."""

    end: End

    async def answer(self, request: web.Request) -> web.StreamResponse:  # type: ignore[override]
        if self.codes:
            return await super().answer(request)
        self.tokens.append(request.headers.get("Authorization", ""))
        answer = web.StreamResponse()
        await answer.prepare(request)
        for version in (11, 12):
            await answer.write(LINE % version)
        await self.end(answer)
        return answer


async def by_itself(answer: web.StreamResponse) -> None:
    await answer.write_eof()


async def cut(answer: web.StreamResponse) -> None:
    request = answer._req
    assert request is not None and request.transport is not None
    request.transport.close()


async def silent(answer: web.StreamResponse) -> None:
    await asyncio.sleep(5)


async def with_words_of_others(answer: web.StreamResponse) -> None:
    await answer.write(b"<html>upstream timed out</html>\n")


def streams(codes: list[int] | None = None, retry_after: str = "", end: End = by_itself) -> Streams:
    found = Streams(codes or [], retry_after)
    found.end = end
    return found


async def watched(start: Start, fake: Streams, found: list[str] | None = None) -> list[str]:
    """Versions that came."""
    found = [] if found is None else found
    async for version in versions(await start(fake)):
        found.append(version)
    return found


async def versions(api: ApiServer) -> AsyncIterator[str]:
    async for event in api.watch(Scope(PODS, "n"), "10", seconds=300, silence=0.2):
        yield str(event["object"]["metadata"]["resourceVersion"])


@pytest.mark.parametrize("end", [by_itself, cut, silent])
async def test_a_stream_that_has_begun_ends_without_an_error_however_it_ends(start: Start, end: End) -> None:
    assert await watched(start, streams(end=end)) == ["11", "12"]


async def test_what_is_no_event_is_an_error_after_those_that_are(start: Start) -> None:
    found: list[str] = []
    with pytest.raises(Unavailable, match=r"no event: .*upstream"):
        await watched(start, streams(end=with_words_of_others), found)
    assert found == ["11", "12"]


@pytest.mark.parametrize(("code", "error"), [(410, Expired), (403, Forbidden), (429, Throttled), (503, Unavailable)])
async def test_one_that_is_refused_says_why(start: Start, code: int, error: type[Exception]) -> None:
    with pytest.raises(error, match=f"planned {code}") as raised:
        await watched(start, streams([code], retry_after="7"))
    if isinstance(raised.value, Throttled):
        assert raised.value.retry_after == 7


async def test_a_token_that_has_ended_is_read_anew_once(start: Start, tmp_path: Path) -> None:
    fake = streams([401])
    api = await start(fake)
    config = tmp_path / "config"
    config.write_text(config.read_text().replace("first", "second"))
    assert [version async for version in versions(api)] == ["11", "12"]
    assert fake.tokens == ["Bearer first", "Bearer second"]
    fake.codes = [401, 401]
    with pytest.raises(Unavailable):
        [version async for version in versions(api)]


async def test_events_are_read_however_the_network_cuts_them() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for chunk in (b'{"a"', b': 1}\n{"b": 2}', b"\n\n", b'{"c": 3}\n'):
            yield chunk

    assert [event async for event in stream.events(chunks())] == [{"a": 1}, {"b": 2}, {"c": 3}]
