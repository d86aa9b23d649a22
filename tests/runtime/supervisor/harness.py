"""A running supervisor under test: real processes, real sockets, a scripted server."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from tests.support.runtime_process import BLOCKED, RuntimeProcess, free_port, until

__all__ = ["Supervised", "free_port", "until"]


class Supervised(RuntimeProcess):
    """One supervisor. `server` is a module beside this one, a server that plays `scenario`; `bounds` replace the
    supervisor's settings."""

    def __init__(
        self,
        folder: Path,
        scenario: str,
        *,
        port: int | None = None,
        stdout: int | None = None,
        args: str = "",
        server: str = "fake_server",
        wrapper: Sequence[str] = (),
        **bounds: Any,
    ) -> None:
        super().__init__(folder, port or free_port())
        self._gate = folder / f"gate-{self.number}"
        os.mkfifo(self._gate)
        supervised = Path(__file__).with_name("supervised.py")
        bounds.setdefault("command", (sys.executable, "-m", f"{__package__}.{server}"))
        command = [
            *(
                *wrapper,
                *BLOCKED,
                sys.executable,
                str(supervised),
                json.dumps(bounds),
                "serve",
                *(() if "--allow-registration" in args else ("--model", "hf://acme/tiny")),
            ),
            *("--control-port", str(self.port), "--host", "127.0.0.1", "--state-dir", str(self.state)),
            *("--termination-log", str(self.termination_log), "--drain-seconds", "1", "--endpoint-delay-seconds", "0"),
            *(args.split()),
        ]
        self.run(command, {**os.environ, "FAKE_SCENARIO": scenario, "FAKE_GATE": str(self._gate)}, stdout)

    def gate(self) -> IO[str]:
        """Opens once the scenario waits at its gate; the scenario goes on when this is closed."""

        def opened() -> int:
            assert self.process.poll() is None, f"it has ended: {self.text()[-2000:]}"
            try:
                return os.open(self._gate, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                return 0

        return os.fdopen(until(opened, "the scenario at its gate"), "w")

    def open_gate(self, word: str = "") -> None:
        """Let the scenario go on, with a word for it."""
        with self.gate() as gate:
            gate.write(word)
