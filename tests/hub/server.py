"""A running hub."""

import socket
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import uvicorn

from tests.hub.app import application
from tests.hub.faults import Fault
from tests.hub.record import Seen
from tests.hub.state import State

__all__ = ["Hub"]


class Hub:
    """A hub that listens in a thread of this process; also a context that stops it."""

    def __init__(self, listener: socket.socket, state: State) -> None:
        host, port = listener.getsockname()[:2]
        self.url = f"http://{host}:{port}"
        self._state = state
        # A client that never leaves must not keep the hub from stopping.
        config = uvicorn.Config(
            application(state), log_level="critical", ws="none", lifespan="off", timeout_graceful_shutdown=0
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listener],), daemon=True)

    @classmethod
    def start(cls, host: str = "127.0.0.1", port: int = 0, bytes_per_second: int | None = None) -> "Hub":
        """Listen; requests are taken as soon as this returns. Port 0 is a free one. Raises OSError."""
        hub = cls(socket.create_server((host, port)), State(bytes_per_second=bytes_per_second))
        hub._thread.start()
        return hub

    @property
    def requests(self) -> list[Seen]:
        """What clients asked so far, oldest first."""
        return list(self._state.requests)

    def add_repo(
        self, name: str, folder: Path, *, branch: str = "main", gated: bool = False, private: bool = False
    ) -> str:
        """Make the folder's content the head of a branch (moving it if it is there); gives the commit's id."""
        return self._state.add_repo(name, folder, branch=branch, gated=gated, private=private)

    def add_token(self, token: str, opens: Iterable[str] = ()) -> None:
        """Know a token that opens these private and gated repositories."""
        self._state.add_token(token, opens)

    def tell_no_sizes(self) -> None:
        """From now on the list of a repository has names alone, as that of some mirrors."""
        self._state.tells_sizes = False

    def fault(self, fault: Fault) -> None:
        """From now on, fail so; the newest fault that matches a request wins."""
        self._state.faults.add(fault)

    def clear_faults(self) -> None:
        """All is well again."""
        self._state.faults.clear()

    def wait(self) -> None:
        """Return when the hub has been stopped."""
        self._thread.join()

    def stop(self) -> None:
        """End it, breaking off what is still being answered. Stopping twice is harmless."""
        self._server.should_exit = True
        self._thread.join(timeout=10)
        if self._thread.is_alive():
            raise RuntimeError("the hub did not stop within 10 s")

    def __enter__(self) -> "Hub":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
