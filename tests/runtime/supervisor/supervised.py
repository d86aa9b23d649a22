"""Runs the real supervisor with the fake server and short bounds: `supervised.py BOUNDS_AS_JSON serve …`."""

import json
import sys
from dataclasses import replace
from pathlib import Path

from arriero_api.contract import Phase
from arriero_runtime.supervisor.main import run
from arriero_runtime.supervisor.settings import Settings
from arriero_runtime.supervisor.signals import Signals


def main() -> int:
    signals = Signals()
    bounds = json.loads(sys.argv[1])
    silence = dict.fromkeys(Phase, float(bounds.pop("silence", 60)))
    server = bounds.pop("command")
    if "memory_events" in bounds:
        bounds["memory_events"] = (Path(bounds["memory_events"]),)
    return run(sys.argv[2:], signals, replace(Settings(), command=tuple(server), silence=silence, tick=0.05, **bounds))


if __name__ == "__main__":
    sys.exit(main())
