"""containerd: its configuration, its start, and the removal of every container it runs."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.folders import containerd_root
from tests.cluster.network import plugin_configuration
from tests.cluster.processes import Configuration, Records
from tests.cluster.waiting import until

NAMESPACE = "k8s.io"
_READY_SECONDS = 30


@dataclass(frozen=True)
class Containerd:
    """The containerd of the cluster in `folder`; `programs` holds its binaries and the network plugins."""

    folder: Path
    programs: Path
    records: Records

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / "containerd" / "containerd.sock"

    @property
    def client(self) -> Path:
        """Its command-line client."""
        return self.programs / "ctr"

    def keep(self, pause_image: str) -> None:
        """Start it for the kubelet, if it does not run, and wait until it answers."""
        plugins = self.folder / "cni"
        plugins.mkdir(exist_ok=True)
        (plugins / "10-pods.conflist").write_text(json.dumps(plugin_configuration(self.folder)))
        self._keep(_KUBELET_PLUGINS.format(plugins=plugins, programs=self.programs, pause=pause_image))

    def remove_containers(self) -> None:
        """Kill and remove all containers and sandboxes, starting a bare containerd for it if none runs."""
        if not self._answers():
            self.records.end("containerd")
            self._keep(_BARE)
        for task in self._ids("tasks", "list", "--quiet"):
            self._ctr("tasks", "delete", "--force", task)
        for container in self._ids("containers", "list", "--quiet"):
            self._ctr("containers", "delete", container)
        for sandbox in self._ids("sandboxes", "list")[1:]:  # the first line is a heading
            self._ctr("sandboxes", "remove", "--force", sandbox)
        for lease in self._ids("leases", "list", "--quiet"):
            self._ctr("leases", "delete", lease)

    def _keep(self, plugins: str) -> None:
        state = self.folder / "containerd"
        state.mkdir(exist_ok=True)
        path = self.folder / "containerd.toml"
        text = _BASE.format(root=containerd_root(), state=state / "state", socket=self.socket) + plugins
        command = [str(self.programs / "containerd"), f"--config={path}"]
        self.records.keep("containerd", command, Configuration(path, text))
        until(self._ready, _READY_SECONDS, "containerd answers")

    def _ready(self) -> bool:
        self.records.require("containerd")
        return self._answers()

    def _answers(self) -> bool:
        return self.socket.exists() and self._ctr("version").returncode == 0

    def _ids(self, *command: str) -> list[str]:
        done = self._ctr(*command)
        if done.returncode != 0:
            raise ClusterError(f"`ctr {' '.join(command)}` failed: {done.stderr.strip()}")
        return [line.split()[0] for line in done.stdout.splitlines() if line.strip()]

    def _ctr(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.client), f"--address={self.socket}", f"--namespace={NAMESPACE}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)


_BASE = """\
version = 3
root = "{root}"
state = "{state}"
oom_score = 0

[grpc]
address = "{socket}"

[debug]
level = "warn"
"""
_KUBELET_PLUGINS = """
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
enable_selinux = false
disable_apparmor = true
netns_mounts_under_state_dir = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ["{programs}"]
conf_dir = "{plugins}"

[plugins.'io.containerd.cri.v1.images']
snapshotter = "overlayfs"

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = "{pause}"
"""
_BARE = """
disabled_plugins = ["io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images", "io.containerd.grpc.v1.cri"]
"""
