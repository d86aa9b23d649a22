"""FAKE, for benchmarks only: the engine's processes sleep while they wait for each other, and do not turn.

Python imports this at its start where the folder is on its path. vLLM's two processes of an engine on a CPU look for
each other's messages as often as they can, and offer the processor in between (`sched_yield`). On one processor that
takes up to half of it from the one that has work, or nothing, as the kernel sees fit for the moment: two speeds of the
same engine, which have nothing to do with the server in front of it.
"""

import os
import time

_SECONDS = 0.0001
"""A hundredth of a short step."""


def _sleep() -> None:
    time.sleep(_SECONDS)


os.sched_yield = _sleep
