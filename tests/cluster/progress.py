"""Tells the person who waits what is going on, on standard error, with the time since the start."""

import sys
import time

_BEGIN = time.monotonic()


def say(text: str) -> None:
    """Print one line of progress."""
    seconds = int(time.monotonic() - _BEGIN)
    print(f"[{seconds // 60:2d}:{seconds % 60:02d}] {text}", file=sys.stderr, flush=True)
