"""What the local Kubernetes refuses, and in which words."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cluster import ClusterError, ControlPlane, host
from tests.cluster.binaries import check_go
from tests.cluster.folders import state_folder
from tests.cluster.modules import KUBE


class Usage(NamedTuple):
    """What shutil.disk_usage returns."""

    total: int
    used: int
    free: int


def test_a_node_beside_another_kubelet_is_refused(tmp_path: Path) -> None:
    sleep = shutil.which("sleep")
    assert sleep is not None
    foreign = tmp_path / "kubelet"
    shutil.copy2(sleep, foreign)
    with subprocess.Popen([foreign, "300"]) as process:
        try:
            with pytest.raises(ClusterError, match=f"another Kubernetes node runs .*process {process.pid}"):
                host.check_no_other_kubelet(state_folder("cluster"))
        finally:
            process.kill()


def test_a_node_without_root_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ClusterError, match="needs root"):
        host.prepare(state_folder("cluster"))


def test_another_system_than_linux_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(ClusterError, match="runs on Linux only"):
        host.check_platform()


def test_a_full_disk_is_refused_with_both_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(2**40, 2**40, 2**29))
    with pytest.raises(ClusterError, match=r"0\.5 GiB free: 1 GiB"):
        host.check_platform()


def test_a_machine_without_go_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match=r"no `go` on the PATH: install Go 1\.26"):
        check_go([KUBE])


def test_an_old_go_is_refused_with_both_versions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "go"
    old.write_text("#!/bin/sh\necho go1.19.8\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    with pytest.raises(ClusterError, match=r"go1\.19\.8: install Go 1\.26"):
        check_go([KUBE])


@pytest.mark.parametrize("name", ["", "Upper", "a/b", "-a", "a-", "..", "a" * 41])
def test_a_name_that_is_no_label_is_refused(name: str) -> None:
    with pytest.raises(ClusterError, match="use at most 40"):
        state_folder(name)


def test_the_clusters_name_is_refused_for_a_control_plane() -> None:
    with pytest.raises(ClusterError, match="choose another"):
        ControlPlane.start("cluster")
