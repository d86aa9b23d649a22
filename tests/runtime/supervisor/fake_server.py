"""A FAKE of the runtime's server, for tests of the supervisor alone: a process that plays one scenario.

The real server takes the same channel, environment and command line. The scenario's name is in FAKE_SCENARIO; where a
scenario waits for the test, it reads the FIFO named in FAKE_GATE.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from arriero_api.contract import Failure, Phase, Progress, RuntimeStatus
from arriero_runtime.channel import Channel
from arriero_runtime.messages import Drain, Drained, Failed, GiveUp, Heartbeat, MetricsSnapshot, Status

BEAT_SECONDS = 0.05
SLEEPER = [sys.executable, "-c", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"]


class Fake:
    """The channel, a heart that beats, and what scenarios are made of."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.in_flight = 0
        self.held = 0
        self.steps = 0
        self.moving = True
        threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self) -> None:
        while True:
            if self.moving:
                self.steps += 1
            self.channel.send(Heartbeat(0.0, self.in_flight, self.steps * 7, self.steps, self.held))
            time.sleep(BEAT_SECONDS)

    def status(self, phase: Phase, percent: int | None = None) -> None:
        names = ("tiny",) if phase is Phase.READY else ()
        self.channel.send(Status(RuntimeStatus(phase, Progress(percent, ""), commit="c0ffee", names=names)))

    def gate(self) -> str:
        """Wait until the test opens the gate; the word that it has for the scenario."""
        return Path(os.environ["FAKE_GATE"]).read_text()

    def until_drain(self) -> None:
        """Wait until the supervisor asks for the drain."""
        for message in self.channel.messages():
            if isinstance(message, Drain):
                return
        sys.exit("the supervisor has gone")

    def failed(self, reason: str, message: str, **details: str | int) -> None:
        told = {"repository": "acme/tiny", **details}
        self.channel.send(Failed(Failure(reason, message, "Mend it.", Phase.RESOLVING, told)))
        self.channel.flush(5)


def drains(fake: Fake) -> int:
    fake.status(Phase.READY)
    fake.channel.send(MetricsSnapshot("fake_total 7\n"))
    fake.until_drain()
    fake.status(Phase.DRAINING)
    fake.channel.send(Drained(3, 1))
    return 0


def refuses_to_drain(fake: Fake) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    fake.status(Phase.READY)
    signal.pause()
    return 0


def loads_for_ever(fake: Fake) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    fake.status(Phase.LOADING, 40)
    signal.pause()
    return 0


def ends_while_ready(fake: Fake) -> int:
    fake.status(Phase.READY)
    fake.gate()
    return 0


def killed_while_ready(fake: Fake) -> int:
    fake.status(Phase.READY)
    fake.gate()
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def killed_while_loading(fake: Fake) -> int:
    fake.status(Phase.LOADING)
    fake.gate()
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def eats_all_memory(fake: Fake) -> int:
    fake.status(Phase.LOADING)
    fake.gate()
    eaten = []
    while True:
        eaten.append(b"x" * 4_000_000)


def names_its_failure(fake: Fake) -> int:
    fake.status(Phase.RESOLVING)
    fake.failed("ModelNotFound", "The hub has no acme/tiny")
    return 3


def is_asked_to_wait(fake: Fake) -> int:
    fake.status(Phase.RESOLVING)
    fake.failed("SourceRateLimited", "The hub takes no further request (429).", retryAfterSeconds=600)
    return 3


def tells_a_secret(fake: Fake) -> int:
    secret = os.environ["ACME_API_KEY"]
    failure = Failure(
        "SourceUnreachable", f"no {secret}", f"use {secret}", Phase.RESOLVING, {"hub": f"https://u:{secret}@hub"}
    )
    fake.channel.send(Status(RuntimeStatus(Phase.FAILED, failure=failure)))
    fake.gate()
    fake.channel.send(Failed(failure))
    fake.channel.flush(5)
    return 3


def lingers_after_its_failure(fake: Fake) -> int:
    fake.failed("SourceUnreachable", "no answer")
    signal.pause()
    return 0


def has_left_a_failure_behind(fake: Fake) -> int:
    """As where clients register models, and the last one could not be loaded."""
    failure = Failure("ModelNotFound", "The hub has no acme/tiny", "Mend it.", Phase.RESOLVING)
    fake.channel.send(Status(RuntimeStatus(Phase.FAILED, failure=failure)))
    fake.channel.send(Status(RuntimeStatus(Phase.EMPTY, Progress(None, "free"), failure=failure)))
    signal.pause()
    return 0


def tells_in_its_log(fake: Fake) -> int:
    fake.status(Phase.LOADING)
    print("usage: serve [...]\nserve: error: unrecognized arguments: --max-modl-len", file=sys.stderr)
    return 2


def says_unknown_but_logs_the_cause(fake: Fake) -> int:
    fake.failed("EngineFailed", "Engine core initialization failed")
    print(
        "(EngineCore pid=7) ERROR 11-29 22:07:38 [core.py:1510] RuntimeError: Insufficient space in /dev/shm for "
        "shared-memory allocation: 160 MiB required, 1 MiB free."
    )
    return 1


def ends_without_a_word(fake: Fake) -> int:
    return 5


def leaves_grandchildren(fake: Fake) -> int:
    """One in the server's session, one in a session of its own whose parent has gone."""
    subprocess.Popen(SLEEPER)
    middle = "import subprocess, sys; subprocess.Popen(sys.argv[1:], start_new_session=True)"
    subprocess.run([sys.executable, "-c", middle, *SLEEPER], check=True)
    fake.status(Phase.READY)
    match fake.gate():
        case "end":
            return 1
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "fail":
            fake.failed("SourceUnreachable", "no answer")
        case "drain":
            fake.until_drain()
            fake.channel.send(Drained(0, 0))
    return 0


def floods_its_log(fake: Fake) -> int:
    line = b"x" * 1023 + b"\n"
    for _ in range(8 * 1024):
        os.write(1, line)
    fake.status(Phase.READY)
    fake.until_drain()
    fake.channel.send(Drained(0, 0))
    return 0


def writes_odd_bytes(fake: Fake) -> int:
    os.write(1, bytes(range(256)) + "naïve\r50%\r100%\n".encode())
    os.write(2, b"no end of line")
    return 0


def stops_stepping(fake: Fake) -> int:
    fake.status(Phase.READY)
    fake.gate()
    fake.moving = False
    fake.in_flight = fake.held = 2
    signal.pause()
    return 0


def gives_up(fake: Fake) -> int:
    """A hung engine below a server that hears; the gate opens once more before its last words."""
    fake.status(Phase.READY)
    fake.gate()
    fake.moving = False
    fake.in_flight = fake.held = 2
    for message in fake.channel.messages():
        if isinstance(message, GiveUp):
            fake.gate()
            fake.channel.send(Failed(message.failure))
            fake.channel.flush(5)
            return 1
    return 0


def falls_silent(fake: Fake) -> int:
    fake.status(Phase.READY)
    fake.gate()
    os.kill(os.getpid(), signal.SIGSTOP)
    return 0


def main() -> int:
    channel = Channel.from_environment()
    assert channel is not None
    scenario: Callable[[Fake], int] = globals()[os.environ["FAKE_SCENARIO"]]
    return scenario(Fake(channel))


if __name__ == "__main__":
    sys.exit(main())
