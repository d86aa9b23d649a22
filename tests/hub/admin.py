"""The hub's own controls over HTTP, for a hub in another process. No part of the protocol it speaks to clients."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.hub.faults import Fault
from tests.hub.state import State

__all__ = ["PREFIX", "admin_routes"]

PREFIX = "/-"


def admin_routes(state: State) -> list[Route]:
    """POST repositories, tokens, faults; DELETE faults; GET requests. What is wrong in a POST answers 400."""

    async def repositories(request: Request) -> Response:
        body = await request.json()
        return _done(lambda: state.add_repo(body.pop("name"), Path(body.pop("folder")), **body))

    async def tokens(request: Request) -> Response:
        body = await request.json()
        return _done(lambda: state.add_token(body["token"], body["opens"]))

    async def faults(request: Request) -> Response:
        if request.method == "DELETE":
            return _done(state.faults.clear)
        body = await request.json()
        return _done(lambda: state.faults.add(Fault(**body)))

    async def requests(_request: Request) -> Response:
        return JSONResponse([asdict(seen) for seen in state.requests])

    return [
        Route(f"{PREFIX}/repositories", repositories, methods=["POST"]),
        Route(f"{PREFIX}/tokens", tokens, methods=["POST"]),
        Route(f"{PREFIX}/faults", faults, methods=["POST", "DELETE"]),
        Route(f"{PREFIX}/requests", requests),
    ]


def _done(action: Callable[[], object]) -> Response:
    try:
        return JSONResponse({"result": action()})
    except (KeyError, TypeError, ValueError) as error:
        return JSONResponse({"error": str(error)}, 400)
