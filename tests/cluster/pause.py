"""Two small images from Debian's static busybox: the one that holds a pod together, and a toolbox for tests."""

import shutil
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.folders import cache_home
from tests.cluster.images import digest
from tests.cluster.images.containerd import Containerd as ImageStore
from tests.cluster.images.folders import once
from tests.cluster.images.image import Image
from tests.cluster.images.layer import Layer

BUSYBOX = Path("/bin/busybox")
APPLETS = ("sh", "sleep", "cat", "echo", "env", "ls", "nc", "nslookup", "printf", "test", "true", "wget")
_USER = "65532:65532"


def images() -> tuple[Image, Image]:
    """The pause image and the toolbox, in this order."""
    if not BUSYBOX.is_file():
        raise ClusterError(f"no {BUSYBOX}: install the Debian package busybox-static")
    key = digest.of_values(digest.of_bytes(BUSYBOX.read_bytes()), APPLETS)
    folder = cache_home() / "images" / "busybox" / key[:16]
    with once(folder) as partial:
        if partial:
            _fill(partial)
    layers = [Layer(folder, key)]
    pause: dict[str, object] = {"User": _USER, "Entrypoint": ["/bin/sleep", "infinity"]}
    # PID 1 ends on SIGTERM only when it asks for it.
    idle = "trap 'exit 0' TERM; sleep infinity & wait"
    toolbox: dict[str, object] = {"User": _USER, "Env": ["PATH=/bin"], "Cmd": ["/bin/sh", "-c", idle]}
    return Image("arriero-pause", layers, pause), Image("arriero-toolbox", layers, toolbox)


def load(store: ImageStore) -> str:
    """Have both images in containerd; the reference of the toolbox."""
    pause, toolbox = images()
    store.load(pause)
    store.load(toolbox)
    return toolbox.reference


def _fill(root: Path) -> None:
    (root / "bin").mkdir()
    shutil.copy2(BUSYBOX, root / "bin" / "busybox")
    (root / "bin" / "busybox").chmod(0o755)
    for applet in APPLETS:
        (root / "bin" / applet).symlink_to("busybox")
    for folder in ("dev", "etc", "proc", "sys", "tmp"):
        (root / folder).mkdir()
    (root / "tmp").chmod(0o1777)
    root.chmod(0o755)
