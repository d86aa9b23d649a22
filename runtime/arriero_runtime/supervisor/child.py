"""The server as a child: its own session, one pipe for its output, one end of the channel."""

import contextlib
import fcntl
import os
import signal
import subprocess
from collections.abc import Sequence

from arriero_runtime import channel
from arriero_runtime.supervisor.settings import Settings


class Child:
    """A started server. `output` is the read end of its pipe; `wait_status` is the kernel's once it has ended."""

    def __init__(self, settings: Settings, argv: Sequence[str]) -> None:
        """Raises OSError where it cannot be started."""
        self.channel, theirs = channel.pair()
        self.output, write = os.pipe()
        self.wait_status: int | None = None
        _enlarge(write, settings.pipe_bytes)
        environment = {
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            channel.FD_VARIABLE: str(theirs.fileno()),
        }
        try:
            self._process = subprocess.Popen(
                [*settings.command, *argv],
                stdin=subprocess.DEVNULL,
                stdout=write,
                stderr=write,
                env=environment,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        finally:
            os.close(write)
            theirs.close()
        self.pid = self._process.pid

    def note(self, reaped: dict[int, int]) -> None:
        """Take its wait status from what was reaped."""
        if self.pid in reaped:
            self.wait_status = reaped[self.pid]
            self._process.returncode = os.waitstatus_to_exitcode(self.wait_status)

    @property
    def ended(self) -> bool:
        """Whether it has been reaped."""
        return self.wait_status is not None

    def signal_group(self, number: signal.Signals) -> None:
        """Signal the server and those of its processes that are in its group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)


def _enlarge(descriptor: int, size: int) -> None:
    """A larger pipe where the kernel allows one to this user."""
    while size > 64 * 1024:
        with contextlib.suppress(PermissionError):
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, size)
            return
        size //= 2
