"""The kernel's real kill for memory: of one process of a container, as the supervisor outlives it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from arriero_runtime.supervisor import exitcodes
from tests.runtime.supervisor.conftest import Starter
from tests.runtime.supervisor.harness import until

LIMIT = 150_000_000
ROOT = Path("/sys/fs/cgroup")
VERSION_1 = (ROOT / "memory").is_dir()


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group with a memory limit; gone after the test."""
    folder = (ROOT / "memory" if VERSION_1 else ROOT) / f"arriero-test-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / ("memory.limit_in_bytes" if VERSION_1 else "memory.max")).write_text(str(LIMIT))
    except OSError as error:
        pytest.skip(f"no control groups here: {error}")
    yield folder
    until(lambda: not (folder / "cgroup.procs").read_text(), "nobody in the group")
    folder.rmdir()


def inside(group: Path) -> list[str]:
    """Puts a command into the group, which it then finds where a container finds its own."""
    place, kind = (f"{ROOT}/memory", "cgroup -o memory") if VERSION_1 else (str(ROOT), "cgroup2")
    mount = f"umount --lazy {place} && mount -t {kind} none {place}"
    enter = f"echo $$ > {group}/cgroup.procs && exec unshare --cgroup --mount --propagation private sh -c"
    return ["sh", "-c", f'{enter} \'{mount} && exec "$0" "$@"\' "$0" "$@"']


def test_a_server_that_the_kernel_kills_for_its_memory_is_told_as_such(start: Starter, group: Path) -> None:
    supervised = start("eats_all_memory", wrapper=inside(group))
    supervised.open_gate()
    assert supervised.ended() == exitcodes.exit_code("OOMKilled")
    failure = supervised.failure()
    assert failure is not None
    assert failure.reason == "OOMKilled"
    assert "SIGKILL" in failure.message
