"""The operator as a process of its own, against a local control plane, with the rights that the chart grants."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.chart.rendering import NAMESPACE, render
from tests.support.eventually import PATIENCE, eventually
from tests.support.kubectl import Kubectl, Object

_START = 30.0
_STOP = 30.0
_RIGHTS = ("ServiceAccount", "Role", "RoleBinding")
_AT_CLUSTER = ("ClusterRole", "ClusterRoleBinding")


def operator_settings(namespace: str, **changes: Any) -> Object:
    """Settings as the chart writes them for one watched namespace; `changes` replace top-level keys."""
    loaded: Object = yaml.safe_load(render({"watchNamespaces": [namespace]}).settings)
    return {**loaded, **changes}


def operator_kubeconfig(
    kubectl: Kubectl, folder: Path, release: str = "arriero", watched: Sequence[str] | None = None, **values: Any
) -> Path:
    """A kubeconfig with the rights of the operator that the chart installs as `release` into kubectl's namespace.

    It watches the namespaces `watched`, an empty list: all; None: kubectl's own. `values` are more of the chart.
    """
    namespaces = [kubectl.namespace] if watched is None else list(watched)
    rendered = render({**values, "watchNamespaces": namespaces}, release=release)
    for obj in (obj for kind in _AT_CLUSTER for obj in rendered.of(kind)):
        obj["metadata"]["name"] += f"-{kubectl.namespace}"
        if "roleRef" in obj:
            obj["roleRef"]["name"] += f"-{kubectl.namespace}"
            obj["subjects"][0]["namespace"] = kubectl.namespace
        kubectl.apply(obj)
    for kind in _RIGHTS:
        for obj in rendered.of(kind):
            if obj["metadata"]["namespace"] == NAMESPACE:
                obj["metadata"]["namespace"] = kubectl.namespace
            for subject in obj.get("subjects", ()):
                subject["namespace"] = kubectl.namespace
            kubectl.within(obj["metadata"]["namespace"]).apply(obj)
    account = rendered.of("ServiceAccount")[0]["metadata"]["name"]
    token = kubectl.run("create", "token", account, "--duration=2h").strip()
    config = yaml.safe_load(kubectl.kubeconfig.read_text())
    config["users"] = [{"name": account, "user": {"token": token}}]
    config["contexts"][0]["context"]["user"] = account
    path = folder / f"{release}.kubeconfig"
    path.touch(mode=0o600)
    path.write_text(json.dumps(config))
    return path


@dataclass
class OperatorProcess:
    """One operator process; `user` is its name in the audit log.

    Without a kubeconfig it looks for a pod's service account. `env` is what its environment has besides the test's.
    """

    kubectl: Kubectl
    folder: Path
    settings: Mapping[str, Any]
    kubeconfig: Path | None
    identity: str = "operator-0"
    program: tuple[str, ...] = ("-m", "arriero_operator")
    release: str = "arriero"
    env: Mapping[str, str] = field(default_factory=dict)
    python: Path = Path(sys.executable)
    port: int = field(init=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def user(self) -> str:
        """The user that the API server sees."""
        return f"system:serviceaccount:{self.kubectl.namespace}:{self.release}"

    @property
    def log(self) -> Path:
        """Standard output and error of the process, of all its starts."""
        return self.folder / f"{self.identity}.log"

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the process without waiting for it."""
        assert self._process is None, "it runs already"
        self.port = _free_port()
        settings = self.folder / f"{self.identity}.settings.yaml"
        settings.write_text(yaml.safe_dump(dict(self.settings)))
        command = [
            *(str(self.python), *self.program),
            f"--settings={settings}",
            *([f"--kubeconfig={self.kubeconfig}"] if self.kubeconfig else []),
            f"--namespace-of-lease={self.kubectl.namespace}",
            f"--identity={self.identity}",
            f"--probe-port={self.port}",
        ]
        with self.log.open("ab") as log:
            env = {**os.environ, "PYTHONWARNINGS": "default", **self.env}
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=env)

    def wait_ready(self) -> None:
        """Wait until /readyz says so."""
        eventually(self._ready_or_ended, _START)

    def stop(self) -> int:
        """End it as the kubelet does; the exit code."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """End it as a crash does."""
        assert self._process is not None
        self._process.kill()
        self.wait()

    def wait(self, timeout: float = _STOP) -> int:
        """The exit code, once it has ended by itself."""
        assert self._process is not None
        process = self._process
        try:
            code = process.wait(timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the operator did not end within {timeout * PATIENCE:g} s:\n{self.tail()}") from None
        finally:
            self._process = None
        return code

    def has_ended(self) -> bool:
        """Whether it has ended by itself; it can be started anew then."""
        if self._process is not None and self._process.poll() is not None:
            self._process = None
        return self._process is None

    def lines(self) -> list[Object]:
        """The log lines that are JSON."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def tail(self, lines: int = 40) -> str:
        """The end of the log."""
        return "\n".join(self.log.read_text().splitlines()[-lines:])

    def ask(self, path: str) -> tuple[int, str]:
        """Status and text of GET on its own port; (0, "") while nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def _ready_or_ended(self) -> bool:
        assert self._process is not None
        if (code := self._process.poll()) is not None:
            self._process = None
            raise RuntimeError(f"the operator ended with {code}:\n{self.tail()}")
        return self.ask("/readyz")[0] == 200


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
