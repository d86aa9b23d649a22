"""kubectl and helm as the demo calls them: shown to the person who watches, or quietly."""

import json
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.demo import output
from tests.demo.errors import DemoError
from tests.support.kubectl import Object, environment

CHECKOUT = Path(__file__).parents[2]
_SECONDS = 300


@dataclass(frozen=True)
class Tools:
    """The programs in the folder `bin`, working on the cluster of `kubeconfig`."""

    bin: Path
    kubeconfig: Path

    def show(self, *argv: str, stdin: str | None = None) -> str:
        """Run a command that the person sees, with what it prints."""
        output.command(shlex.join(argv))
        text = self.run(*argv, stdin=stdin)
        output.result(text)
        return text

    def run(self, *argv: str, stdin: str | None = None) -> str:
        """Run a command quietly; raises DemoError with its complaint."""
        done = subprocess.run(
            self.argv(*argv), input=stdin, capture_output=True, text=True, timeout=_SECONDS, **self.context()
        )
        if done.returncode != 0:
            raise DemoError(f"`{shlex.join(argv)}` failed: {(done.stderr or done.stdout).strip()}")
        text: str = done.stdout
        return text

    def get(self, *arguments: str) -> Object:
        """The object or list that `kubectl get` finds."""
        found: Object = json.loads(self.run("kubectl", "get", *arguments, "-o", "json"))
        return found

    def apply(self, *objects: Object) -> None:
        """Apply objects quietly."""
        self.run("kubectl", "apply", "-f", "-", stdin="\n---\n".join(json.dumps(obj) for obj in objects))

    def start(self, *argv: str, stdin: str | None = None) -> "subprocess.Popen[str]":
        """Start a command whose output is read as it comes; the caller ends it."""
        child = subprocess.Popen(
            self.argv(*argv),
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
            **self.context(),
        )
        if stdin is not None and child.stdin is not None:
            child.stdin.write(stdin)
            child.stdin.close()
        return child

    def argv(self, *argv: str) -> list[str]:
        """The command with the program's full path."""
        return [str(self.bin / argv[0]), *argv[1:]]

    def context(self) -> Mapping[str, Any]:
        """Where the commands run: in the checkout, with the cluster's kubeconfig."""
        return {"cwd": CHECKOUT, "env": environment(self.bin, self.kubeconfig)}
