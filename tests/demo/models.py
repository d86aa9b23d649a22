"""InferenceModels as the demo sees them: read once, or watched until something holds."""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from tests.demo import output
from tests.demo.client import NAMESPACE
from tests.demo.errors import DemoError
from tests.demo.tools import Tools
from tests.support.kubectl import Object


@dataclass(frozen=True)
class State:
    """What an InferenceModel says of itself; `current` tells whether it speaks of the newest spec."""

    current: bool
    ready: bool
    stalled: bool
    reason: str
    message: str
    phase: str
    percent: int | None
    detail: str

    @classmethod
    def of(cls, obj: Object) -> "State":
        """Read the status; a resource without one has been seen by nobody yet."""
        status: Any = obj.get("status") or {}
        conditions = {c["type"]: c for c in status.get("conditions", ())}
        ready = conditions.get("Ready", {})
        progress = status.get("progress") or {}
        return cls(
            current=status.get("observedGeneration") == obj["metadata"]["generation"],
            ready=ready.get("status") == "True",
            stalled=conditions.get("Stalled", {}).get("status") == "True",
            reason=ready.get("reason", ""),
            message=ready.get("message", ""),
            phase=progress.get("phase", ""),
            percent=progress.get("percent"),
            detail=progress.get("message", ""),
        )

    def line(self) -> str:
        """The state in one line, as the columns of `kubectl get` would tell it."""
        percent = "" if self.percent is None else f"{self.percent} %"
        return f"{self.phase or self.reason or 'Accepting':<20} {percent:>6}  {self.detail}".rstrip()


def watch(tools: Tools, name: str, until: Callable[[State], bool], seconds: float) -> State:
    """Show each change of the model until `until` holds; raises DemoError after `seconds`."""
    begin = time.monotonic()
    child = tools.start("kubectl", "get", "im", name, "-n", NAMESPACE, "--watch", "-o", "json")
    shown, last = "", None
    try:
        for obj in _received(child, begin + seconds):
            last = State.of(obj)
            if last.current and last.line() != shown:
                shown = last.line()
                output.result(f"{time.monotonic() - begin:5.1f} s  {shown}")
            if last.current and until(last):
                return last
    finally:
        child.terminate()
        child.wait()
    seen = f"{last.reason}: {last.message}" if last else "nothing was seen of it"
    raise DemoError(f"{name} is not there within {seconds:.0f} seconds; {seen}")


def ready(state: State) -> bool:
    """Served as the spec asks. Raises DemoError for a model that waits for a change of its spec."""
    if state.stalled:
        raise DemoError(f"the model waits for a change: {state.reason}: {state.message}")
    return state.ready


def pods(tools: Tools, name: str) -> dict[str, int]:
    """The pods of a model: uid → restarts."""
    found = tools.get("pods", "-n", NAMESPACE, "-l", f"arriero.dev/model={name}")
    return {pod["metadata"]["uid"]: _restarts(pod) for pod in found["items"]}


def _restarts(pod: Object) -> int:
    return sum(status["restartCount"] for status in pod["status"].get("containerStatuses", ()))


def documents(pieces: Iterable[str]) -> Iterator[Object]:
    """The JSON objects in a text that comes in pieces, one after the other."""
    decoder, text = json.JSONDecoder(), ""
    for piece in pieces:
        text += piece
        while text := text.lstrip():
            try:
                obj, end = decoder.raw_decode(text)
            except ValueError:
                break
            yield obj
            text = text[end:]


def _received(child: "subprocess.Popen[str]", deadline: float) -> Iterator[Object]:
    """What the watch prints, until the deadline or its end."""
    lines: SimpleQueue[str | None] = SimpleQueue()

    def read() -> None:
        for line in child.stdout or ():
            if line[0] in "{ }":  # all else is a complaint of kubectl's
                lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()

    def pieces() -> Iterator[str]:
        while (left := deadline - time.monotonic()) > 0:
            try:
                line = lines.get(timeout=left)
            except Empty:
                return
            if line is None:
                return
            yield line

    return documents(pieces())
