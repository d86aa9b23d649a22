"""A pod that calls models through their Services, as any program in the cluster would."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.demo.errors import DemoError
from tests.demo.tools import Tools
from tests.support.kubectl import Object

NAME = "demo-client"
NAMESPACE = "default"
_PROGRAM = Path(__file__).with_name("inside.py").read_text()
_WAIT_FOR_END = (
    "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); signal.sigwait({signal.SIGTERM})"
)


def url(model: str, path: str = "/v1/chat/completions") -> str:
    """Where a pod reaches the model's Service."""
    return f"http://{model}.{NAMESPACE}.svc{path}"


@dataclass(frozen=True)
class Client:
    """The running pod; each call runs `inside.py` in it."""

    tools: Tools

    @classmethod
    def start(cls, tools: Tools, image: str) -> "Client":
        """Start the pod anew from an image that has Python."""
        tools.run("kubectl", "delete", "pod", NAME, "-n", NAMESPACE, "--ignore-not-found")
        tools.apply(_pod(image))
        tools.run("kubectl", "wait", "-n", NAMESPACE, "--for=condition=Ready", f"pod/{NAME}", "--timeout=120s")
        return cls(tools)

    def call(self, *arguments: str) -> Object:
        """The one line that the call prints."""
        lines = self.tools.run(*_exec(*arguments), stdin=_PROGRAM).splitlines()
        found: Object = json.loads(lines[-1])
        return found

    @contextmanager
    def calling(self, *arguments: str) -> Iterator[Iterator[Object]]:
        """The lines of a call as they are printed; it is ended with the context."""
        child = self.tools.start(*_exec(*arguments), stdin=_PROGRAM)
        try:
            yield _lines(child)
        finally:
            if child.poll() is None:
                child.terminate()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()


def _exec(*arguments: str) -> tuple[str, ...]:
    return ("kubectl", "exec", "-i", "-n", NAMESPACE, NAME, "--", "python3", "-", *arguments)


def _lines(child: "subprocess.Popen[str]") -> Iterator[Object]:
    other = []
    for line in child.stdout or ():
        if line.startswith("{"):
            yield json.loads(line)
        else:
            other.append(line.strip())
    if child.wait() != 0:
        raise DemoError(f"the call from the pod failed: {other[-1] if other else child.returncode}")


def _pod(image: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 2,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "client",
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["python3", "-c", _WAIT_FOR_END],
                    "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }
            ],
        },
    }
