"""What the processes of one server use, by the part that each of them plays."""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arriero_runtime.supervisor.tree import descendants

SUPERVISOR: Final = "supervisor"
FRONT: Final = "front end"
ENGINE: Final = "engine"
OTHER: Final = "other"


@dataclass(frozen=True, slots=True)
class Parts:
    """The processes of a server that is ready: it starts no others from then on."""

    pids: Mapping[int, str]

    def cpu(self) -> dict[str, float]:
        """CPU-seconds of all threads until now."""
        return self._summed(cpu_seconds)

    def memory(self) -> dict[str, float]:
        """MB: resident, pages that several processes share counted in proportion."""
        return self._summed(lambda pid: _kib(Path(f"/proc/{pid}/smaps_rollup"), "Pss:") / 1024)

    def resident(self) -> dict[str, float]:
        """MB: resident, as the kernel counts it for each process alone."""
        return self._summed(lambda pid: _kib(Path(f"/proc/{pid}/status"), "VmRSS:") / 1024)

    def _summed(self, used: Callable[[int], float]) -> dict[str, float]:
        found: defaultdict[str, float] = defaultdict(float)
        for pid, part in self.pids.items():
            with contextlib.suppress(OSError):  # it has ended
                found[part] += used(pid)
        return dict(found)


def of_tree(root: int) -> Parts:
    """Those of a process and all below it."""
    return Parts({pid: _part(pid, root) for pid in (root, *descendants(root))})


def _part(pid: int, root: int) -> str:
    title = _title(pid)
    if title.startswith("VLLM::"):
        return ENGINE
    if "arriero_runtime.server" in title:
        return FRONT
    if pid == root:
        return SUPERVISOR if "arriero_runtime" in title else FRONT
    return OTHER


def cpu_seconds(pid: int) -> float:
    """What the threads of a process have used until now; those that have ended do not count."""
    found = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue  # it has just ended
    return found / 1e9


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def _kib(file: Path, name: str) -> int:
    return int(file.read_text().split(f"\n{name}")[1].split()[0])
