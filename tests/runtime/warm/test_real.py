"""Real engines that compile, on one cache volume: two that start at once, and one that starts when they are gone."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.models import tiny
from tests.support.real_runtime import NAME, START_SECONDS, RealRuntime
from tests.support.runtime_process import until

pytestmark = pytest.mark.full

ENTER = 'mount --make-rprivate / && mount --bind "$1" "$2" && shift 2 && exec "$@"'
"""As a container has it: the same path in every pod, and another folder behind it."""


@contextmanager
def pod(tmp_path: Path, name: str, volume: Path) -> Iterator[RealRuntime]:
    """A runtime that compiles, with `volume` for its cache; killed at the end with all that is below it."""
    folder, inside = tmp_path / name, tmp_path / "inside"
    for one in (folder, inside):
        one.mkdir(exist_ok=True)
    runtime = RealRuntime(
        folder,
        tiny(),
        own=(f"--cache-dir={volume}", "--shared-cache"),
        wrapper=("unshare", "-m", "sh", "-c", ENTER, "sh", str(folder), str(inside)),
        inside=inside,
        compiled=True,
    )
    try:
        yield runtime
    finally:
        runtime.clean()


def answer(runtime: RealRuntime) -> str:
    """The likeliest continuation of a fixed beginning."""
    body = {"model": NAME, "prompt": "Once upon a time", "max_tokens": 24, "temperature": 0}
    response = httpx.post(f"{runtime.url}/v1/completions", json=body, timeout=120)
    response.raise_for_status()
    return str(response.json()["choices"][0]["text"])


def cpu_seconds(runtime: RealRuntime) -> float:
    """Of the runtime and all that is below it, so far."""
    ticks = 0
    for pid in (runtime.process.pid, *runtime.below()):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def _kept(runtime: RealRuntime) -> bool:
    return "compiled code is kept" in runtime.text()


def end(runtime: RealRuntime) -> None:
    runtime.process.send_signal(signal.SIGTERM)
    assert runtime.ended(60) == 0


def test_two_engines_that_compile_at_once_on_one_volume_serve_and_a_third_finds_what_they_compiled(
    tmp_path: Path,
) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    with ExitStack() as stack:
        both = [stack.enter_context(pod(tmp_path, name, volume)) for name in ("a", "b")]
        for one in both:
            one.until_ready(2 * START_SECONDS)
            print(f"one of two first starts: ready after {one.age():.0f} s, {cpu_seconds(one):.0f} s of processor time")
        cold = min(cpu_seconds(one) for one in both)
        said = {answer(one) for one in both}
        assert len(said) == 1
        for one in both:
            until(partial(_kept, one), "kept what it compiled")
            end(one)
    (archive,) = (volume / "compiled").iterdir()
    assert archive.name.endswith(".tar.gz")
    with pod(tmp_path, "c", volume) as third:
        third.until_ready(START_SECONDS)
        warm = cpu_seconds(third)
        print(f"the start after them: ready after {third.age():.0f} s, {warm:.0f} s of processor time")
        assert "compiled code of an earlier start is used" in third.text()
        assert {answer(third)} == said
        assert warm < 0.8 * cold
        end(third)
