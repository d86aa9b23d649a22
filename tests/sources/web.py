"""A plain web server over TLS for a folder: ranges, entity tags, no listing; it may ask who is there, or say no."""

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from tests.cluster.certificates import Authority


@dataclass
class WebServer:
    """`url` is its address. `authorization`: the header to ask for, empty for none. `answers` has path → (status,
    headers) for files that are to fail so; with `refuses` all do, with 403. `asked` are the methods and paths of all
    requests, with their ranges."""

    folder: Path
    url: str = ""
    ca: str = ""
    authorization: str = ""
    answers: dict[str, tuple[int, dict[str, str]]] = field(default_factory=dict)
    refuses: bool = False
    asked: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def host(self) -> str:
        """Host and port."""
        return self.url.removeprefix("https://")

    def expect_user(self, user: str, password: str) -> None:
        """Ask for this user."""
        self.authorization = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"

    async def answer(self, request: Request) -> Response:
        """GET or HEAD of a file."""
        path = str(request.path_params["path"])
        self.asked.append((request.method, path, request.headers.get("range", "")))
        if self.authorization and request.headers.get("authorization") != self.authorization:
            return Response(status_code=401)
        if self.refuses:
            return Response(status_code=403)
        if path in self.answers:
            status, headers = self.answers[path]
            return Response(status_code=status, headers=headers)
        file = self.folder / path
        return FileResponse(file) if file.is_file() else Response(status_code=404)


@contextmanager
def web_server(folder: Path, certificates: Path) -> Iterator[WebServer]:
    """Serves `folder` over TLS on a free port; its authority is made in `certificates`."""
    certificates.mkdir(exist_ok=True)
    authority = Authority(certificates)
    pair = authority.server("web", ("localhost", "127.0.0.1"))
    web = WebServer(folder, ca=authority.certificate.read_text())
    app = Starlette(routes=[Route("/{path:path}", web.answer, methods=["GET", "HEAD"])])
    listener = socket.create_server(("127.0.0.1", 0))
    web.url = f"https://localhost:{listener.getsockname()[1]}"
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="critical",
            ws="none",
            lifespan="off",
            ssl_certfile=pair.certificate,
            ssl_keyfile=str(pair.key),
            timeout_graceful_shutdown=0,
        )
    )
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield web
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        assert not thread.is_alive()
