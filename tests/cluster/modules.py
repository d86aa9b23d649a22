"""The Go programs that the local Kubernetes consists of, as data: one entry for each folder under go/."""

from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent / "go"
KUBERNETES_VERSION = "1.37.2"
_STAMP = {
    "gitVersion": f"v{KUBERNETES_VERSION}",
    "gitMajor": KUBERNETES_VERSION.split(".")[0],
    "gitMinor": KUBERNETES_VERSION.split(".")[1],
    "gitTreeState": "clean",
    "gitCommit": "unknown",
    "buildDate": "2026-10-27T12:01:04Z",
}


@dataclass(frozen=True)
class GoModule:
    """A folder with go.mod: what is built from it, and with which flags.

    `names` are symbolic links to make to the one binary `name`, for a binary that acts by the name it is called by.
    """

    name: str
    contents: str
    minutes: float
    packages: tuple[str, ...] = (".",)
    names: tuple[str, ...] = ()
    tags: str = ""
    stamps: tuple[str, ...] = ()

    def flags(self) -> list[str]:
        """The flags of `go build` besides the output and the packages."""
        linker = " ".join(["-s", "-w", *(f"-X {stamp}" for stamp in self.stamps)])
        return ["-trimpath", f"-ldflags={linker}", *([f"-tags={self.tags}"] if self.tags else [])]


KUBE = GoModule(
    name="kube",
    contents=f"etcd and Kubernetes {KUBERNETES_VERSION}",
    minutes=7,
    names=("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"),
    stamps=tuple(f"k8s.io/component-base/version.{key}={value}" for key, value in _STAMP.items()),
)
CONTAINERS = GoModule(
    name="containers",
    contents="containerd and the network plugins",
    minutes=1,
    packages=(
        "github.com/containerd/containerd/v2/cmd/containerd",
        "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
        "github.com/containerd/containerd/v2/cmd/ctr",
        "github.com/containernetworking/plugins/plugins/ipam/host-local",
        "github.com/containernetworking/plugins/plugins/main/bridge",
        "github.com/containernetworking/plugins/plugins/main/loopback",
        "github.com/containernetworking/plugins/plugins/meta/portmap",
    ),
    tags="no_btrfs,no_devmapper,no_zfs",
)
KWOK = GoModule("kwok", "kwok, which plays nodes and pods", 1.5, packages=("sigs.k8s.io/kwok/cmd/kwok",))
HELM = GoModule(
    name="helm",
    contents="helm",
    minutes=1.5,
    packages=("helm.sh/helm/v4/cmd/helm",),
    stamps=("helm.sh/helm/v4/internal/version.version=v4.3.1",),
)
COREDNS = GoModule("coredns", "CoreDNS", 1, names=("coredns",))
