"""Building Go programs into the cache."""

import subprocess
from pathlib import Path

import pytest

from tests.cluster import ClusterError, binaries
from tests.cluster.modules import GoModule

MODULE = GoModule("hello", "a greeting", 0.1, names=("hello", "good-day"))
SOURCE = 'package main\n\nimport "os"\n\nfunc main() { os.Stdout.WriteString("%s") }\n'


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The one source file of a small Go module, in an empty cache."""
    folder = tmp_path / "go" / MODULE.name
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text("module hello\n\ngo 1.26.0\n")
    (folder / "main.go").write_text(SOURCE % "hello")
    monkeypatch.setattr(binaries, "SOURCES", tmp_path / "go")
    monkeypatch.setattr(binaries, "cache_home", lambda: tmp_path / "cache")
    return folder / "main.go"


def _output(name: str) -> str:
    program = binaries.binaries(MODULE)[MODULE.name] / name
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def test_a_program_is_built_once_for_each_content(source: Path) -> None:
    assert _output("good-day") == "hello"
    first = binaries.binaries(MODULE)[MODULE.name]
    built = (first / "hello").stat().st_mtime_ns
    assert _output("hello") == "hello"
    assert (first / "hello").stat().st_mtime_ns == built
    source.write_text(SOURCE % "changed")
    assert _output("hello") == "changed"


def test_a_failed_build_shows_the_compilers_words_and_leaves_nothing(source: Path) -> None:
    source.write_text("package main\n\nfunc main() { missing() }\n")
    with pytest.raises(ClusterError, match="undefined: missing"):
        binaries.binaries(MODULE)
    assert [path for path in (source.parents[2] / "cache" / "bin").iterdir() if path.is_dir()] == []
