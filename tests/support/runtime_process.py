"""A runtime under test as a process of its own: what it answers on its control port, how it ends, what it leaves."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from arriero_api.contract import Failure, RuntimeStatus
from arriero_runtime.supervisor.tree import descendants

DEADLINE = 30.0
BLOCKED = ("env", "--block-signal=TERM", "--block-signal=INT")
"""Put before the command, as the image's entry point does."""
Found = TypeVar("Found")


def until(ask: Callable[[], Found], what: str, seconds: float = DEADLINE) -> Found:
    """The first true answer of `ask`; fails naming `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)
    return answer


def free_port() -> int:
    """A port that nobody listens on, below those that the kernel gives to outgoing connections."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class RuntimeProcess:
    """One life of a container. `folder` has its state, termination message and log; several may share it, in turn."""

    def __init__(self, folder: Path, port: int) -> None:
        self.port = port
        self.termination_log = folder / "termination-log"
        self.termination_log.write_text("")
        self.number = len(list(folder.glob("log-*")))
        self.log = folder / f"log-{self.number}"
        self.state = folder / "state"
        self.state.mkdir(exist_ok=True)
        self.process: subprocess.Popen[bytes]
        self.started = 0.0

    def run(self, command: Sequence[str], environment: Mapping[str, str], stdout: int | None = None) -> None:
        """Start it, its log in a file where no `stdout` is given."""
        self.started = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log if stdout is None else stdout, stderr=subprocess.STDOUT, env=environment
            )

    def get(self, path: str) -> tuple[int, str]:
        """Status code and body; 0 where nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return int(answer.status), answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return int(error.code), error.read().decode()
        except OSError:
            return 0, ""

    def status(self) -> RuntimeStatus | None:
        """What /status says."""
        code, body = self.get("/status")
        return RuntimeStatus.from_json(body) if code == 200 else None

    def until_ready(self, seconds: float = DEADLINE) -> None:
        """Wait for /readyz; an end meanwhile fails at once."""

        def ready() -> bool:
            assert self.process.poll() is None, f"ended with {self.process.returncode}; its log: {self.text()[-3000:]}"
            return self.get("/readyz")[0] == 200

        until(ready, f"ready; its log: {self.text()[-3000:]}", seconds)

    def age(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.started

    def until_hears(self) -> None:
        """Wait until a signal to stop is not lost: as early as a container's runtime can send one."""
        bit = 1 << (signal.SIGTERM - 1)

        def hears() -> bool:
            masks = dict(
                line.split(":", 1) for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
            )
            return bool((int(masks["SigBlk"], 16) | int(masks["SigCgt"], 16)) & bit)

        until(hears, "hears SIGTERM")

    def stop(self) -> None:
        """SIGTERM, as the kubelet does."""
        self.process.send_signal(signal.SIGTERM)

    def ended(self, seconds: float = DEADLINE) -> int:
        """The exit code, once it has ended."""
        return self.process.wait(seconds)

    def message(self) -> str:
        """The termination message."""
        return self.termination_log.read_text()

    def failure(self) -> Failure | None:
        """The termination message where it tells a failure; None for that of a clean stop."""
        text = self.message()
        return Failure.from_json(text) if text and '"shutdown"' not in text else None

    def text(self) -> str:
        """The log so far."""
        return self.log.read_text(errors="replace")

    def below(self) -> list[int]:
        """All processes below it."""
        return descendants(self.process.pid)

    def clean(self) -> None:
        """End it and what it left, whatever a test has done."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP)  # So that it starts nothing more.
        below = self.below()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE)
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
