"""What one process has used, by the kernel's own count."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """CPU-seconds (user and system) since the start, and resident memory in MiB: now and at its highest."""

    cpu: float
    memory: float
    peak: float

    @classmethod
    def of(cls, pid: int) -> "Usage":
        """Of a running process."""
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        lines = (line.split(":") for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        status = {key: value.split()[0] for key, value in lines if value.split()}
        cpu = (int(after_name[11]) + int(after_name[12])) / _TICKS
        return cls(cpu, int(status["VmRSS"]) / 1024, int(status["VmHWM"]) / 1024)
