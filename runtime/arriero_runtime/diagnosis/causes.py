"""The causes in the engine's log: which error each of its processes told last.

vLLM gives no structured error. A worker's and the engine core's tracebacks are log records, each line with a prefix
such as `(Worker pid=7) ERROR 01-31 12:00:00 [file.py:1]`; the main process prints its own traceback bare. The main
process mostly repeats that another one failed, so a worker's error comes first, then the engine core's, then its own.
"""

import re
from collections import deque
from dataclasses import dataclass, field
from typing import Final

_PREFIX: Final = re.compile(r"\((?P<process>[A-Za-z]+)[^)]*pid=\d+\)\s?(?P<rest>.*)", re.DOTALL)
_RECORD: Final = re.compile(
    r"(?P<level>[A-Z]+) (?P<stamp>\d\d-\d\d \d\d:\d\d:\d\d) \[(?P<where>[^\]]+)\] ?(?P<text>.*)"
)
_ERROR: Final = re.compile(
    r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|NotFound)):\s?(?P<text>.*)"
)
_BARE: Final = re.compile(r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception))\s*")
_USAGE: Final = re.compile(r"(?:[\w.-]+(?: [\w-]+)*: )?error: (?P<text>.+)")
_ENDS: Final = re.compile(
    r"Traceback \(|During handling of|The above exception|Process \w|INFO|WARNING|ERROR|DEBUG|\S+:\d+: \w*Warning: "
)
_FRAME: Final = re.compile(r'\s+File "[^"]+", line \d+, in ')

_POINTERS: Final = re.compile(
    r"Engine core initialization failed|WorkerProc initialization failed|Worker failed with error"
    r"|Call to \w+ method failed: Worker failed|EngineCore encountered an issue|EngineDeadError|cancelled"
)
"""Errors that only say that another process has failed."""
_HARMLESS: Final = re.compile(r"Error saving model info cache|Error parsing config for|Chat template rejected")
"""First lines of ERROR records that the engine survives."""

_CONTINUATION_LINES: Final = 12
_FRAMES: Final = 60
_EARLIER: Final = 12
ENGINE: Final = ("Worker", "EngineCore")
EVERYWHERE: Final = (*ENGINE, "main")
"""Processes in the order in which their errors count."""
USAGE: Final = "usage"
"""`Cause.type` of a command line that the argument parser refuses."""


@dataclass(slots=True)
class Cause:
    """One error: its type with module, its text with the lines that follow it, and where it came from.

    `frames` are the lines of its traceback; `earlier` are the errors that the same process told before.
    """

    process: str
    type: str
    text: str
    frames: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        """Type, text and what follows."""
        return f"{self.type}: {self.text}" if self.text else self.type


class _Source:
    """What one process has told."""

    def __init__(self, process: str) -> None:
        self.process = process
        self.last: Cause | None = None
        self.open = False
        self.record = ("", "")
        self.ignore = False
        self._frames: deque[str] = deque(maxlen=_FRAMES)
        self._earlier: deque[str] = deque(maxlen=_EARLIER)
        self._continued = 0

    def begin_record(self, record: tuple[str, str], text: str) -> None:
        if record != self.record:
            self.record = record
            self.ignore = bool(_HARMLESS.search(text))
            self.open = False

    def feed(self, text: str) -> None:
        if self.ignore:
            return
        if _FRAME.match(text):
            self.open = False
            self._frames.append(text.strip())
        elif found := _ERROR.match(text) or _BARE.fullmatch(text):
            groups = found.groupdict()
            self._tell(groups["type"], groups.get("text") or "")
        elif found := _USAGE.fullmatch(text):
            self._tell(USAGE, found["text"])
        elif self.open and self.last and not _ENDS.match(text) and self._continued < _CONTINUATION_LINES:
            self._continued += 1
            self.last.text += f"\n{text}"
        else:
            self.open = False
            if text.startswith("Traceback ("):
                self._frames.clear()

    def _tell(self, kind: str, text: str) -> None:
        if _POINTERS.search(f"{kind}: {text}"):
            self.open = False
            return
        if self.last is not None:
            self._earlier.append(self.last.line)
        self.last = Cause(self.process, kind, text, list(self._frames), list(self._earlier))
        self.open = True
        self._continued = 0


class Causes:
    """Fed with the log line by line; keeps little and forgets the rest."""

    def __init__(self) -> None:
        self._sources: dict[str, _Source] = {name: _Source(name) for name in EVERYWHERE}

    def feed(self, line: str) -> None:
        """One line of the log, without its end."""
        prefixed = _PREFIX.match(line)
        process, rest = (prefixed["process"], prefixed["rest"]) if prefixed else ("main", line)
        source = self._sources["main" if process == "APIServer" or process not in self._sources else process]
        record = _RECORD.match(rest)
        if record is None:
            if not prefixed:
                source.ignore = False
            source.feed(rest)
        elif record["level"] in ("ERROR", "CRITICAL"):
            source.begin_record((record["stamp"], record["where"]), record["text"])
            source.feed(record["text"])
        else:
            source.open = False

    def cause(self, order: tuple[str, ...] = EVERYWHERE) -> Cause | None:
        """The likeliest cause of an end that happens now, from the processes in `order`."""
        return next((found for name in order if (found := self._sources[name].last)), None)
