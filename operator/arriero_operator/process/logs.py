"""Log lines as JSON: a constant message, and the data as keys of their own."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final, TextIO

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_QUIET: Final = {
    # Kopf logs each event that a handler has seen.
    "kopf.objects": logging.WARNING,
    "aiohttp.access": logging.WARNING,
}


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, message, what `extra` holds, and the traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """As logging.Formatter.format."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {k: v for k, v in vars(record).items() if k not in _STANDARD and not k.startswith("_")}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def configure(level: int = logging.INFO, stream: TextIO = sys.stderr) -> None:
    """Send all log lines of the process to `stream`."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(least)
