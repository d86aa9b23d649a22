"""The log of one engine after the other, where clients register models: each failure is told from its own part."""

import re
from collections.abc import Callable
from typing import Final

from arriero_api.contract import Failure
from arriero_runtime.diagnosis import Diagnosis
from arriero_runtime.messages import LOG_MARK, Told

_MARK: Final = re.compile(re.escape(LOG_MARK) + r" (\d+)$")


class Chapters:
    """Takes the log line by line. At each mark of the server it gives to `tell` what was known by then: `killed` where
    the kernel has ended a process for its memory, else what the engine's processes wrote."""

    def __init__(
        self, diagnosis: Diagnosis, killed: Callable[[], Failure | None], tell: Callable[[Told], object]
    ) -> None:
        self._diagnosis = diagnosis
        self._killed = killed
        self._tell = tell

    def feed(self, line: str) -> None:
        """One line of the log, without its end."""
        if mark := _MARK.search(line):
            self._tell(Told(int(mark[1]), self._killed() or self._diagnosis.failure(engine_only=True)))
            self._diagnosis.forget()
        else:
            self._diagnosis.feed(line)
