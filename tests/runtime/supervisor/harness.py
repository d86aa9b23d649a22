"""A running supervisor under test: real processes, real sockets, a scripted server."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar

from arriero_api.contract import Failure, RuntimeStatus
from arriero_runtime.supervisor.tree import descendants

DEADLINE = 30.0
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


class Supervised:
    """One supervisor. `folder` holds its state, termination message and log; several may share one, in turn."""

    def __init__(
        self,
        folder: Path,
        scenario: str,
        *,
        port: int | None = None,
        stdout: int | None = None,
        args: str = "",
        **bounds: Any,
    ) -> None:
        self.port = port or free_port()
        self.termination_log = folder / "termination-log"
        self.termination_log.write_text("")
        number = len(list(folder.glob("log-*")))
        self.log = folder / f"log-{number}"
        self._gate = folder / f"gate-{number}"
        os.mkfifo(self._gate)
        state = folder / "state"
        state.mkdir(exist_ok=True)
        supervised = Path(__file__).with_name("supervised.py")
        command = [
            *(sys.executable, str(supervised), json.dumps(bounds), "serve", "--model", "hf://acme/tiny"),
            *("--control-port", str(self.port), "--host", "127.0.0.1", "--state-dir", str(state)),
            *("--termination-log", str(self.termination_log), "--drain-seconds", "1", "--endpoint-delay-seconds", "0"),
            *(args.split()),
        ]
        environment = {**os.environ, "FAKE_SCENARIO": scenario, "FAKE_GATE": str(self._gate)}
        self.started = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log if stdout is None else stdout, env=environment)

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

    def until_ready(self) -> None:
        """Wait for /readyz."""
        until(lambda: self.get("/readyz")[0] == 200, f"ready; its log: {self.text()}")

    def gate(self) -> IO[str]:
        """Opens once the scenario waits at its gate; the scenario goes on when this is closed."""
        return self._gate.open("w")

    def open_gate(self) -> None:
        """Let the scenario go on."""
        self.gate().close()

    def stop(self) -> None:
        """SIGTERM, as the kubelet does."""
        self.process.send_signal(signal.SIGTERM)

    def ended(self) -> int:
        """The exit code, once it has ended."""
        return self.process.wait(DEADLINE)

    def failure(self) -> Failure | None:
        """The termination message; None for an empty one."""
        text = self.termination_log.read_text()
        return Failure.from_json(text) if text else None

    def text(self) -> str:
        """The log so far."""
        return self.log.read_text(errors="replace")

    def below(self) -> list[int]:
        """All processes below it."""
        return descendants(self.process.pid)

    def clean(self) -> None:
        """End it and what it left, whatever a test has done."""
        below = self.below()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE)
        for pid in below:
            if Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGKILL)
