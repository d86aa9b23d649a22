"""A faulty way to the API server: a reverse proxy in front of the real one, whose faults the test switches on and off.

It runs in a thread of its own, so that tests of any kind can use it. What it passes on is unchanged; clients speak
HTTP to it and bring their token, which it hands on (or its own certificate, where a test wants the admin's rights).
"""

import asyncio
import base64
import ssl
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import aiohttp
import yaml
from aiohttp import web
from yarl import URL

from tests.support.faults import Drop, Fault, Passed, Reply, Seen, Stream, WireFault

T = TypeVar("T")

_BODY: Final = 64 * 1024 * 1024
_SKIPPED: Final = frozenset({"host", "connection", "transfer-encoding", "content-length", "keep-alive"})
_PATIENCE: Final = 30


@dataclass(frozen=True)
class _Upstream:
    """Where the API server is, and how to trust it."""

    server: str
    context: ssl.SSLContext

    @classmethod
    def of(cls, kubeconfig: Path, folder: Path, *, admin: bool) -> "_Upstream":
        """From a kubeconfig with inline certificates; `folder` takes them as files. `admin`: act as its user."""
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
        if admin:
            for name in ("client-certificate", "client-key"):
                path = folder / name
                path.touch(mode=0o600)
                path.write_bytes(base64.b64decode(user[f"{name}-data"]))
            context.load_cert_chain(folder / "client-certificate", folder / "client-key")
        return cls(cluster["server"], context)


@dataclass
class Proxy:
    """Faults are asked in their order; the first that answers for a request decides. `seen` counts requests."""

    upstream: _Upstream
    faults: list[Fault] = field(default_factory=list)
    seen: int = 0
    url: str = ""
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _session: aiohttp.ClientSession | None = None
    _runner: web.AppRunner | None = None
    _site: web.TCPSite | None = None
    _open: weakref.WeakSet[asyncio.Transport] = field(default_factory=weakref.WeakSet)
    """Also those on which no request is under way: clients keep them for the next one."""

    @contextmanager
    def fault(self, fault: Fault) -> Iterator[None]:
        """The fault for as long as the block lasts."""
        self.faults.append(fault)
        try:
            yield
        finally:
            self.faults.remove(fault)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Nobody listens, and every open connection is cut, for as long as the block lasts."""
        self._run(self._leave())
        try:
            yield
        finally:
            self._run(self._listen(urlsplit(self.url).port or 0))

    def cut(self) -> None:
        """Cut every open connection."""
        self._run(self._cut())

    def kubeconfig(self, like: Path, path: Path) -> Path:
        """A kubeconfig of the same user as `like`, through the proxy."""
        config = yaml.safe_load(like.read_text())
        config["clusters"][0]["cluster"] = {"server": self.url}
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(config))
        return path

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE)

    async def _start(self) -> None:
        connector = aiohttp.TCPConnector(limit=0, ssl=self.upstream.context)
        self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False)
        app = web.Application(client_max_size=_BODY)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await self._listen(0)

    async def _listen(self, port: int) -> None:
        assert self._runner is not None
        self._site = web.TCPSite(self._runner, "127.0.0.1", port, reuse_address=True)
        await self._site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _leave(self) -> None:
        assert self._site is not None
        await self._site.stop()
        await self._cut()

    async def _cut(self) -> None:
        for transport in list(self._open):
            transport.abort()

    async def _end(self) -> None:
        await self._cut()
        assert self._runner is not None and self._session is not None
        await self._runner.cleanup()
        await self._session.close()
        await asyncio.sleep(0.05)  # transports close with the loop's next turns

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.seen += 1
        seen = Seen.of(request.method, request.path, request.query, await request.read())
        fault = next((found for one in list(self.faults) if (found := one(seen)) is not None), None)
        transport = request.transport
        assert isinstance(transport, asyncio.Transport)
        self._open.add(transport)
        return await self._answer(request, seen, fault)

    async def _answer(self, request: web.Request, seen: Seen, fault: WireFault | None) -> web.StreamResponse:
        if isinstance(fault, Reply):
            return web.Response(status=fault.status, body=fault.body, headers=dict(fault.headers))
        if isinstance(fault, Passed):
            await asyncio.sleep(fault.delay)
        headers = {key: value for key, value in request.headers.items() if key.lower() not in _SKIPPED}
        assert self._session is not None
        try:
            async with self._session.request(
                request.method,
                URL(f"{self.upstream.server}{request.raw_path}", encoded=True),
                headers=headers,
                data=seen.body or None,
                timeout=aiohttp.ClientTimeout(total=None),
            ) as answer:
                if seen.watch:
                    return await self._stream(request, answer, fault.lines if isinstance(fault, Stream) else None)
                body = await answer.read()
                if isinstance(fault, Drop):
                    fault.dropped(answer.status)
                    return _cut(request)
                if isinstance(fault, Passed) and fault.change is not None:
                    body = fault.change(body)
                return web.Response(status=answer.status, body=body, headers=_headers(answer))
        except aiohttp.ClientError:
            return _cut(request)

    async def _stream(
        self, request: web.Request, answer: aiohttp.ClientResponse, lines: Callable[[bytes], bytes] | None
    ) -> web.StreamResponse:
        """Line by line; `lines` may change a line, empty it, or end the stream by raising EOFError."""
        response = web.StreamResponse(status=answer.status, headers=_headers(answer))
        await response.prepare(request)
        with suppress(ConnectionError, aiohttp.ClientError, EOFError):
            async for line in _lines(answer):
                if passed := lines(line) if lines else line:
                    await response.write(passed)
        return response


def _headers(answer: aiohttp.ClientResponse) -> dict[str, str]:
    return {key: value for key, value in answer.headers.items() if key.lower() not in _SKIPPED}


def _cut(request: web.Request) -> web.Response:
    """The connection ends without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def _lines(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in answer.content.iter_any():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"


@contextmanager
def faulty(kubeconfig: Path, folder: Path, *, admin: bool = False) -> Iterator[Proxy]:
    """A proxy in front of the API server of `kubeconfig`; `admin`: every request is made with that user's rights."""
    proxy = Proxy(_Upstream.of(kubeconfig, folder, admin=admin))
    thread = threading.Thread(target=proxy._loop.run_forever, name="proxy", daemon=True)
    thread.start()
    try:
        proxy._run(proxy._start())
        yield proxy
    finally:
        proxy._run(proxy._end())
        proxy._loop.call_soon_threadsafe(proxy._loop.stop)
        thread.join()
        proxy._loop.close()
