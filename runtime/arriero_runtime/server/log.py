"""The server's own log lines, beside those of the engine."""

import logging
import sys

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def begin() -> None:
    """Write to standard error from now on."""
    logging.basicConfig(level=logging.INFO, format=_FORMAT, stream=sys.stderr)
    # The root's level does not stay: what the engine imports raises it, and the word of a drain would be lost.
    logging.getLogger("arriero_runtime").setLevel(logging.INFO)
    # Each request to the hub would be a line, some with signed addresses.
    for name in ("httpx", "httpx2"):
        logging.getLogger(name).setLevel(logging.WARNING)
