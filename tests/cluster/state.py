"""The state folder of one control plane or cluster: what it is, and what its users get from it."""

from dataclasses import dataclass
from pathlib import Path

from tests.cluster.folders import state_folder, state_home
from tests.cluster.processes import Records

CONTROL_PLANE = "control-plane"  # the name of a control plane that was given none
CLUSTER = "cluster"  # the name of the one cluster with a real node


@dataclass(frozen=True)
class State:
    """The folder of everything that `down` removes."""

    name: str

    @property
    def folder(self) -> Path:
        """The folder itself; it exists from the start until `down`."""
        return state_folder(self.name)

    @property
    def lock(self) -> Path:
        """Held by whoever starts or ends this one."""
        return state_home() / f".{self.name}.lock"

    @property
    def bin(self) -> Path:
        """The folder with kubectl and helm."""
        return self.folder / "bin"

    @property
    def kubeconfig(self) -> Path:
        """The admin's kubeconfig."""
        return self.folder / "kubeconfig"

    @property
    def records(self) -> Records:
        """The processes."""
        return Records(self.folder)

    def open(self) -> None:
        """Make the folder."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def link(self, *programs: Path) -> None:
        """Make the programs callable from the folder `bin`."""
        self.bin.mkdir(exist_ok=True)
        for program in programs:
            link = self.bin / program.name
            link.unlink(missing_ok=True)
            link.symlink_to(program)
