"""The Dockerfiles, built. vLLM's own image cannot be had here: its CPU build, installed on Debian, stands in for it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.images.buildah import Buildah, BuildFailed
from tests.cluster.images.paths import CHECKOUT

pytestmark = pytest.mark.full

PRESENT = "import importlib.util as u, json, sys; print(json.dumps([n for n in sys.argv[1:] if u.find_spec(n)]))"
STAND_IN = """\
FROM localhost/arriero-runtime-cpu
USER root
RUN mkdir -p /var/lib/apt/lists/partial && apt-get update \\
 && apt-get install -y --no-install-recommends python3-pip \\
 && cd /usr/local/lib/python3.11/dist-packages && rm -r arriero* obstore*
"""
OUTDATED = """\
FROM docker.io/vllm/vllm-openai:v0.32.0
RUN sed -i 's/^Version: .*/Version: 0.1.0/' /usr/local/lib/python3.11/dist-packages/uvicorn-*/METADATA
"""


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    found = Buildah(tmp_path_factory.mktemp("buildah"))
    try:
        found.debian()
        yield found
    finally:
        found.remove()


@pytest.fixture(scope="module")
def vllm(buildah: Buildah, tmp_path_factory: pytest.TempPathFactory) -> str:
    buildah.build(CHECKOUT / "runtime" / "Dockerfile.cpu", "localhost/arriero-runtime-cpu")
    return made(buildah, tmp_path_factory.mktemp("stand-in"), STAND_IN, "docker.io/vllm/vllm-openai:v0.32.0")


def made(buildah: Buildah, folder: Path, text: str, tag: str) -> str:
    file = folder / "Dockerfile"
    file.write_text(text)
    buildah.build(file, tag)
    return tag


def present(buildah: Buildah, image: str, *modules: str) -> list[str]:
    found: list[str] = json.loads(buildah.output(image, "python3", "-c", PRESENT, *modules))
    return found


def test_the_operators_image_starts_and_holds_no_part_of_the_runtime(buildah: Buildah) -> None:
    buildah.build(CHECKOUT / "operator" / "Dockerfile", "localhost/arriero-operator")
    assert "--kubeconfig" in buildah.output("localhost/arriero-operator", "python3", "-m", "arriero_operator", "--help")
    heavy = ("torch", "vllm", "fastapi", "arriero_runtime")
    assert present(buildah, "localhost/arriero-operator", *heavy, "arriero_operator") == ["arriero_operator"]


@pytest.mark.usefixtures("vllm")
def test_the_cpu_runtime_starts_without_root_and_holds_no_operator(buildah: Buildah) -> None:
    image = "localhost/arriero-runtime-cpu"
    assert "serve" in buildah.output(image, "python3", "-m", "arriero_runtime", "--help")
    assert buildah.output(image, "id", "-u").strip() == "65532"
    assert present(buildah, image, "vllm", "arriero_runtime", "arriero_operator") == ["vllm", "arriero_runtime"]


@pytest.mark.usefixtures("vllm")
def test_the_gpu_runtime_is_vllms_image_and_ours_with_nothing_else_changed(buildah: Buildah) -> None:
    buildah.build(CHECKOUT / "runtime" / "Dockerfile", "localhost/arriero-runtime")
    assert "serve" in buildah.output("localhost/arriero-runtime", "python3", "-m", "arriero_runtime", "--help")
    assert buildah.output("localhost/arriero-runtime", "id", "-u").strip() == "65532"


def test_a_base_that_lacks_what_the_runtime_needs_fails_the_build_with_its_name(
    buildah: Buildah, vllm: str, tmp_path: Path
) -> None:
    old = made(buildah, tmp_path, OUTDATED, "localhost/old-vllm")
    file = tmp_path / "Dockerfile.old"
    file.write_text((CHECKOUT / "runtime" / "Dockerfile").read_text().replace("vllm/vllm-openai:v0.32.0", old))
    with pytest.raises(BuildFailed, match=r"uvicorn<1,>=0.34 is needed, 0\.1\.0 is installed"):
        buildah.build(file, "localhost/never")
    assert vllm
