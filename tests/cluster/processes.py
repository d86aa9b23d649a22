"""Background processes that outlive the command that starts them, and their records on disk.

A record names the process by pid and by its time of birth, so that a pid that the kernel has given to somebody else is
never touched. Every process also carries its state folder in its environment (`MARK`), and so do the shims that
containerd starts: what a crash left without a record is found by that.
"""

import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.progress import say

MARK = "ARRIERO_CLUSTER_STATE"
_LOG_TAIL = 15


@dataclass(frozen=True)
class Process:
    """One process: its pid and its birth in clock ticks since boot (field 22 of /proc/PID/stat)."""

    pid: int
    birth: int

    @classmethod
    def of(cls, pid: int) -> "Process | None":
        """The living process with this pid, or None when there is none (a zombie counts as none)."""
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZX" else cls(pid, int(fields[19]))

    def alive(self) -> bool:
        """Whether this very process still runs."""
        return Process.of(self.pid) == self

    def send(self, number: signal.Signals) -> None:
        """Signal the process if it still runs."""
        if self.alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return


def end(processes: list[Process], grace: float) -> None:
    """End the processes: SIGTERM, and SIGKILL for what still runs after `grace` seconds (at once when 0)."""
    if grace > 0:
        for process in processes:
            process.send(signal.SIGTERM)
        _await_end(processes, grace)
    for process in processes:
        process.send(signal.SIGKILL)
    _await_end(processes, 5)
    if left := [process.pid for process in processes if process.alive()]:
        raise ClusterError(f"processes {left} do not end even after SIGKILL: see `ps -o pid,stat,wchan,args`")


def _await_end(processes: list[Process], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while any(process.alive() for process in processes) and time.monotonic() < deadline:
        time.sleep(0.02)


def marked(folder: Path) -> list[Process]:
    """All living processes of this user whose environment carries the state folder."""
    mark = f"{MARK}={folder}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and mark in _environment(entry):
            process = Process.of(int(entry.name))
            if process is not None and process.pid != os.getpid():
                found.append(process)
    return found


def _environment_of(folder: Path) -> dict[str, str]:
    """The environment of our processes: marked, and without proxies, which are not for addresses of this machine."""
    kept = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    return {**kept, MARK: str(folder)}


def _environment(entry: Path) -> list[bytes]:
    try:
        return (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


@dataclass(frozen=True)
class Configuration:
    """A file that a process reads at its start: written before it starts, and never while it runs."""

    path: Path
    text: str


@dataclass(frozen=True)
class Records:
    """The processes of one state folder, each with a name, a record and a log file."""

    folder: Path

    def log(self, name: str) -> Path:
        """Where the process called `name` writes what it prints."""
        return self.folder / "logs" / f"{name}.log"

    def running(self, name: str) -> Process | None:
        """The recorded process called `name` if it still runs."""
        record = self._read(name)
        return record[0] if record is not None and record[0].alive() else None

    def keep(self, name: str, argv: list[str], configuration: Configuration | None = None) -> None:
        """Start the process unless it runs with exactly these arguments and this configuration."""
        record = self._read(name)
        inputs = hashlib.sha256(repr((argv, configuration)).encode()).hexdigest()
        if record is not None and record[0].alive():
            if record[1] == inputs:
                return
            end([record[0]], grace=10)
        if configuration is not None:
            configuration.path.write_text(configuration.text)
        say(f"starting {name}")
        self._start(name, argv, inputs)

    def require(self, name: str) -> None:
        """Raise ClusterError with the end of its log when the process called `name` has ended."""
        if self.running(name) is None:
            lines = self.log(name).read_text(errors="replace").splitlines()[-_LOG_TAIL:]
            raise ClusterError(f"{name} ended; the end of {self.log(name)}:\n  " + "\n  ".join(lines))

    def end(self, *names: str, grace: float = 10) -> None:
        """End the processes called `names` and drop their records."""
        end([process for name in names if (process := self.running(name))], grace)
        for name in names:
            self._path(name).unlink(missing_ok=True)

    def names(self) -> Iterator[str]:
        """The names of all recorded processes."""
        for path in sorted((self.folder / "processes").glob("*.json")):
            yield path.stem

    def _path(self, name: str) -> Path:
        return self.folder / "processes" / f"{name}.json"

    def _read(self, name: str) -> tuple[Process, str] | None:
        try:
            record = json.loads(self._path(name).read_text())
            return Process(record["pid"], record["birth"]), record["inputs"]
        except (FileNotFoundError, ValueError, KeyError):
            return None

    def _start(self, name: str, argv: list[str], inputs: str) -> None:
        for path in (self.log(name), self._path(name)):
            path.parent.mkdir(parents=True, exist_ok=True)
        with self.log(name).open("ab") as log:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=_environment_of(self.folder),
                start_new_session=True,
            )
        child.returncode = 0  # it outlives this object on purpose: no warning that it still runs
        process = Process.of(child.pid)
        if process is None:
            raise ClusterError(f"{name} ended at once; see {self.log(name)}")
        self._path(name).write_text(json.dumps({**asdict(process), "inputs": inputs}))
