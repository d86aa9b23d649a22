"""Waits for many objects at once by one watch, so that waiting costs next to nothing."""

import queue
import subprocess
import threading
import time
from collections.abc import Callable
from types import TracebackType

from tests.support.kubectl import Kubectl


class Seen:
    """For as long as it is entered: what a watch last told of each object, by name, and when it began to hold."""

    def __init__(self, kubectl: Kubectl, kind: str, jsonpath: str, wanted: Callable[[str], bool]) -> None:
        self._command = kubectl.command(
            "get", kind, "--watch", "-o", f'jsonpath={{.metadata.name}} {jsonpath}{{"\\n"}}'
        )
        self._env = kubectl.env
        self._wanted = wanted
        self._lines: queue.SimpleQueue[tuple[float, str]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._left = False
        self.since: dict[str, float] = {}
        """Name to the moment (monotonic seconds) since which the object is as wanted."""

    def __enter__(self) -> "Seen":
        self._process = self._watch()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._left = True
            self._process.terminate()
        self._reader.join()

    def wait(self, count: int, timeout: float) -> float:
        """The moment when the last of `count` objects became as wanted. Raises TimeoutError, RuntimeError."""
        end = time.monotonic() + timeout
        while len(self.since) < count:
            try:
                moment, line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"{len(self.since)} of {count} after {timeout} s") from None
            if not line:
                raise RuntimeError("the watch has ended")
            name, _, value = line.partition(" ")
            if not name:
                continue
            if self._wanted(value.strip()):
                self.since.setdefault(name, moment)
            else:
                self.since.pop(name, None)
        return max(self.since.values())

    def _read(self) -> None:
        """The API server ends each watch after some minutes: the next begins with all objects as they are by then."""
        while self._tell(self._process):
            with self._lock:
                if self._left:
                    break
                self._process = self._watch()
        self._lines.put((time.monotonic(), ""))

    def _tell(self, process: subprocess.Popen[str]) -> bool:
        """Whether there was anything to tell until it ended."""
        assert process.stdout is not None
        told = False
        for line in process.stdout:
            told = True
            self._lines.put((time.monotonic(), line))
        process.wait()
        return told

    def _watch(self) -> subprocess.Popen[str]:
        return subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True, env=self._env)
