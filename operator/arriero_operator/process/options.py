"""What a process is told by its command line."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    """How this process was started. `kubeconfig` None: the pod's service account. `identity`: unique to the process.

    `lease` is the name of the Lease in `lease_namespace`: another for each installation, which lead beside each other.
    """

    kubeconfig: Path | None
    lease_namespace: str
    lease: str
    identity: str
    probe_port: int
