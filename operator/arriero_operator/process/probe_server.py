"""The operator's HTTP port: /livez, /readyz and /metrics."""

from collections.abc import Callable, Sequence

from aiohttp import web

from arriero_operator.process.metrics import CONTENT_TYPE

Check = Callable[[], str]
"""Says in a line what is wrong; an empty string: nothing."""


class ProbesError(Exception):
    """The port cannot be used; the text names the remedy."""


class Probes:
    """Answers while the event loop turns, which is the first thing that liveness means."""

    def __init__(self, live: Sequence[Check], ready: Sequence[Check], metrics: Callable[[], bytes]) -> None:
        self._live = live
        self._ready = ready
        self._metrics = metrics
        self._runner: web.AppRunner | None = None

    async def start(self, port: int) -> None:
        """Listen on every address. Raises ProbesError."""
        app = web.Application()
        app.add_routes(
            [
                web.get("/livez", self._answer_live),
                web.get("/readyz", self._answer_ready),
                web.get("/metrics", self._answer_metrics),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, port=port).start()
        except OSError as error:
            raise ProbesError(f"port {port} of the probes: {error.strerror}: pass --probe-port") from error

    async def stop(self) -> None:
        """Stop listening."""
        if self._runner:
            await self._runner.cleanup()

    async def _answer_live(self, _: web.Request) -> web.Response:
        return _verdict(self._live)

    async def _answer_ready(self, _: web.Request) -> web.Response:
        return _verdict(self._ready)

    async def _answer_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._metrics(), headers={"Content-Type": CONTENT_TYPE})


def _verdict(checks: Sequence[Check]) -> web.Response:
    wrong = [text for check in checks if (text := check())]
    return web.Response(status=503 if wrong else 200, text="; ".join(wrong) or "ok")
