"""Images in a real containerd: linked, not copied; renewed in place; old ones gone with all they held."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.binaries import binaries
from tests.cluster.images.containerd import Containerd
from tests.cluster.images.image import Image
from tests.cluster.images.layer import Layer
from tests.cluster.leftovers import unmount
from tests.cluster.modules import CONTAINERS
from tests.cluster.waiting import until

pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(os.geteuid() != 0, reason="containerd's snapshots need root"),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Containerd]:
    """A containerd of the module's own."""
    programs = binaries(CONTAINERS)[CONTAINERS.name]
    folder = tmp_path_factory.mktemp("containerd")
    socket = folder / "socket"
    settings = folder / "config.toml"
    settings.write_text(
        f'version = 3\nroot = "{folder}/root"\nstate = "{folder}/state"\n[grpc]\naddress = "{socket}"\n'
        'disabled_plugins = ["io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri"]\n'
    )
    with (folder / "log").open("w") as log:
        child = subprocess.Popen([programs / "containerd", f"--config={settings}"], stdout=log, stderr=log)
    try:
        until(lambda: socket.exists() and _answers(programs / "ctr", socket), 30, "containerd answers")
        yield Containerd(socket, programs / "ctr")
    finally:
        child.terminate()
        child.wait(timeout=30)
        unmount(folder)


def _answers(ctr: Path, socket: Path) -> bool:
    return subprocess.run([ctr, f"--address={socket}", "version"], capture_output=True).returncode == 0


def image(folder: Path, upper: str) -> Image:
    """An image of two layers: one for all, and one that holds `upper` under app/."""
    for name, content in (("lower", "same"), (upper, upper)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "file").write_text(content)
    layers = [Layer(folder / "lower", f"{folder} lower"), Layer(folder / upper, f"{folder} {upper}", "app")]
    return Image("probe", layers, {"Cmd": [upper]})


def ctr(store: Containerd, *arguments: str) -> list[str]:
    command = [str(store.ctr), f"--address={store.socket}", "--namespace=k8s.io", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def mounted(store: Containerd, image: Image, target: Path) -> dict[str, str]:
    """The files of an image as a container would see them."""
    target.mkdir()
    ctr(store, "images", "mount", image.full_name, str(target))
    try:
        files = [file for file in target.rglob("*") if file.is_file()]
        return {str(file.relative_to(target)): file.read_text() for file in files}
    finally:
        ctr(store, "images", "unmount", "--rm", str(target))


def test_an_image_holds_its_layers_over_one_another(store: Containerd, tmp_path: Path) -> None:
    probe = image(tmp_path, "one")
    store.load(probe)
    assert mounted(store, probe, tmp_path / "mnt") == {"file": "same", "app/file": "one"}


def test_the_files_of_a_layer_are_linked_from_the_cache(store: Containerd, tmp_path: Path) -> None:
    store.load(image(tmp_path, "one"))
    assert (tmp_path / "lower" / "file").stat().st_nlink == 2


def test_loading_again_changes_nothing(store: Containerd, tmp_path: Path) -> None:
    store.load(image(tmp_path, "one"))
    before = ctr(store, "snapshots", "list")
    store.load(image(tmp_path, "one"))
    assert ctr(store, "snapshots", "list") == before


def test_a_new_upper_layer_adds_one_snapshot_and_the_third_tag_ends_the_first(
    store: Containerd, tmp_path: Path
) -> None:
    one, two, three = (image(tmp_path, name) for name in ("one", "two", "three"))
    store.load(one)
    snapshots = len(ctr(store, "snapshots", "list"))
    store.load(two)
    assert len(ctr(store, "snapshots", "list")) <= snapshots + 1
    store.load(three)
    listed = " ".join(ctr(store, "images", "list", "--quiet"))
    assert one.tag not in listed
    assert two.tag in listed and three.tag in listed
    assert (tmp_path / "one" / "file").stat().st_nlink == 1
    assert (tmp_path / "lower" / "file").stat().st_nlink == 2


def test_a_load_that_was_stopped_half_way_is_taken_up(store: Containerd, tmp_path: Path) -> None:
    probe = image(tmp_path, "one")
    ctr(store, "snapshots", "prepare", f"arriero-{probe.layers[0].diff_id}")
    store.load(probe)
    assert mounted(store, probe, tmp_path / "mnt") == {"file": "same", "app/file": "one"}
