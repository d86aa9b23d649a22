"""All benchmarks, one after the other: `python -m tests.bench [NAME…]`. Each runs by itself too, with more options."""

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final

_PAIRS: Final = "{pairs}"
BENCHES: Final[Mapping[str, Sequence[str]]] = {
    "serving": ("tests.bench.serving", "--pairs={pairs}"),
    "serving-smollm2": (
        "tests.bench.serving",
        "--model=smollm2",
        "--streams=1,32",
        "--kind=streams",
        "--pairs={pairs}",
    ),
    "front": ("tests.bench.serving", "--model=free", "--pairs={pairs}"),
    "completion": ("tests.bench.serving", "--route=completion", "--kind=streams", "--pairs={pairs}"),
    "native": ("tests.bench.native_cost",),
    "start": ("tests.bench.start", "--pairs={pairs}"),
    "control": ("tests.bench.control_port", "--seconds=20"),
    "fleet": ("tests.bench.fleet",),
    "fleet-5000": ("tests.bench.fleet", "--models=5000"),
}
"""Name → module and arguments. What each measures is told in docs/benchmarks.md."""


def main() -> None:
    """Exits with 1 where one of them could not be run; what it finds is nothing that fails."""
    parser = argparse.ArgumentParser(prog="tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"default: all; {', '.join(BENCHES)}")
    parser.add_argument("--pairs", type=int, help="interleaved pairs of each measurement; else its own number")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(BENCHES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}")
    failed = []
    for name in asked.names or BENCHES:
        module, *arguments = BENCHES[name]
        begun = time.monotonic()
        print(f"## {name}\n", flush=True)
        chosen = [one for one in arguments if asked.pairs or _PAIRS not in one]
        command = [sys.executable, "-m", module, *(one.replace(_PAIRS, str(asked.pairs)) for one in chosen)]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
        print(f"\n{name}: {time.monotonic() - begun:.0f} s\n", flush=True)
    if failed:
        sys.exit(f"could not be run: {', '.join(failed)}")


if __name__ == "__main__":
    main()
