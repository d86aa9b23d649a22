"""Answers `/status` for every fake pod, as a runtime that serves does."""

import asyncio
import subprocess
import threading
from collections.abc import Iterable
from typing import Final

from arriero_api import labels, pod
from arriero_api.contract import Phase, RuntimeStatus
from tests.support.kubectl import Kubectl

_EFFECTIVE: Final[dict[str, str | int | bool]] = {"maxModelLen": 4096, "dtype": "bfloat16"}
_TOLD = labels.REGISTRATIONS.replace(".", r"\.")


class Runtimes:
    """Plays the runtimes of a namespace's pods while entered: they apply at once what they are told.

    It listens on `addresses`, of which the pods must have theirs: nobody can tell which pod gets which.
    """

    def __init__(self, kubectl: Kubectl, addresses: Iterable[str]) -> None:
        line = f'jsonpath={{.status.podIP}} {{.metadata.annotations.{_TOLD}}}{{"\\n"}}'
        self._command = kubectl.command("get", "pods", "--watch", "-o", line)
        self._env = kubectl.env
        self._addresses = frozenset(addresses)
        self._told: dict[str, str] = {}
        self._elsewhere: set[str] = set()

    def __enter__(self) -> "Runtimes":
        self._loop = asyncio.new_event_loop()
        self._serving = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._serving.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        self._watch = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True, env=self._env)
        self._following = threading.Thread(target=self._follow, daemon=True)
        self._following.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.terminate()
        self._watch.wait()
        self._following.join()
        for server in self._servers:
            self._loop.call_soon_threadsafe(server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._serving.join()
        self._loop.close()
        if self._elsewhere:
            raise RuntimeError(f"pods had addresses of which nobody answers: {sorted(self._elsewhere)[:5]}")

    async def _listen(self) -> None:
        self._servers = [
            await asyncio.start_server(self._answer, address, pod.CONTROL_PORT) for address in sorted(self._addresses)
        ]

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request a connection."""
        await reader.readuntil(b"\r\n\r\n")
        told = self._told.get(writer.get_extra_info("sockname")[0], "")
        body = RuntimeStatus(phase=Phase.READY, registrations=told, effective=_EFFECTIVE).to_json().encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    def _follow(self) -> None:
        assert self._watch.stdout is not None
        for line in self._watch.stdout:
            address, _, told = line.strip().partition(" ")
            if address and address not in self._addresses:
                self._elsewhere.add(address)
            if told:
                self._told[address] = told
