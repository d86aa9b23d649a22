"""The hub as an ASGI application."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.hub.admin import PREFIX, admin_routes
from tests.hub.endpoints import Endpoints
from tests.hub.record import Seen
from tests.hub.refusals import ClientGone, NoAnswer, Refusal
from tests.hub.state import State

__all__ = ["application"]

MODEL = "/api/models/{owner}/{model}"


def application(state: State) -> ASGIApp:
    """The routes over `state`; every request of a client is noted in it."""
    hub = Endpoints(state)
    routes = [
        *admin_routes(state),
        Route(MODEL, hub.info),
        Route(f"{MODEL}/revision/{{revision:path}}", hub.info),
        Route(f"{MODEL}/tree/{{revision:path}}", hub.tree),
        Route(f"{MODEL}/refs", hub.refs),
        Route("/{owner}/{model}/resolve/{revision}/{path:path}", hub.resolve),
        Route("/large-files/{owner}/{model}/{revision}/{path:path}", hub.large, name="large"),
    ]
    return _Recorder(Starlette(routes=routes, exception_handlers={Refusal: _refuse, ClientGone: _be_silent}), state)


async def _refuse(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return error.response()


async def _be_silent(_request: Request, _error: Exception) -> Response:
    return NoAnswer()


class _Recorder:
    """Notes each request when its answer begins, or when it ends without one."""

    def __init__(self, app: ASGIApp, state: State) -> None:
        self._app, self._state = app, state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(f"{PREFIX}/"):
            await self._app(scope, receive, send)
            return
        headers = Request(scope).headers
        seen = Seen(
            method=scope["method"],
            path=scope["path"],
            status=0,
            range=headers.get("range", ""),
            token=headers.get("authorization", "").removeprefix("Bearer "),
        )
        self._state.requests.append(seen)

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen.status = message["status"]
            await send(message)

        await self._app(scope, receive, noting)
