"""The server's own log lines, beside those of the engine."""

import logging
import sys
from typing import Final

from arriero_runtime import hiding

_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class WithoutSecrets(logging.Formatter):
    """Also of an exception's traceback, which has the words of whatever library raised it."""

    def format(self, record: logging.LogRecord) -> str:
        return hiding.text(super().format(record))


def begin() -> None:
    """Write to standard error from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(WithoutSecrets(_FORMAT))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # The root's level does not stay: what the engine imports raises it, and the word of a drain would be lost.
    logging.getLogger("arriero_runtime").setLevel(logging.INFO)
    # Each request to the hub would be a line, some with signed addresses.
    for name in ("httpx", "httpx2"):
        logging.getLogger(name).setLevel(logging.WARNING)
