"""kubectl as a user runs it, for tests that speak of what a user sees."""

import json
import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Object = dict[str, Any]


def environment(bin: Path, kubeconfig: Path) -> dict[str, str]:
    """Of every program that speaks with a local cluster: those in `bin` first, and past any proxy."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, "KUBECONFIG": str(kubeconfig), "PATH": f"{bin}:{kept.get('PATH', '')}"}


class KubectlError(AssertionError):
    """A command failed; the text is what kubectl said."""


@dataclass(frozen=True)
class Kubectl:
    """kubectl of one cluster, in one namespace. `bin` is the folder that holds kubectl and helm."""

    bin: Path
    kubeconfig: Path
    namespace: str = "default"

    @property
    def env(self) -> dict[str, str]:
        """The environment of every command."""
        return environment(self.bin, self.kubeconfig)

    def within(self, namespace: str) -> "Kubectl":
        """The same in another namespace."""
        return replace(self, namespace=namespace)

    def command(self, *args: str) -> list[str]:
        """The command line, for those who run it themselves."""
        return [str(self.bin / "kubectl"), "-n", self.namespace, *args]

    def run(self, *args: str, stdin: str | None = None, timeout: float = 60) -> str:
        """Standard output. Raises KubectlError."""
        done = subprocess.run(
            self.command(*args), input=stdin, capture_output=True, text=True, env=self.env, timeout=timeout, check=False
        )
        if done.returncode:
            raise KubectlError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def json(self, *args: str) -> Object:
        """The answer of a command that prints JSON."""
        answer: Object = json.loads(self.run(*args, "-o", "json"))
        return answer

    def items(self, kind: str, selector: str = "") -> list[Object]:
        """All objects of a kind, by label selector."""
        found: list[Object] = self.json("get", kind, *(["-l", selector] if selector else []))["items"]
        return found

    def only(self, kind: str, selector: str) -> Object:
        """The one object of a kind, by label selector.

        An AssertionError where there is none, or more than one: what was deleted is made anew a moment later.
        """
        found = self.items(kind, selector)
        assert len(found) == 1, f"{len(found)} objects of kind {kind}"
        return found[0]

    def apply(self, obj: Object) -> None:
        """Apply one object."""
        self.run("apply", "-f", "-", stdin=json.dumps(obj))

    def patch(self, kind: str, name: str, patch: Object) -> None:
        """Merge patch."""
        self.run("patch", kind, name, "--type=merge", "-p", json.dumps(patch))

    def exists(self, kind: str, name: str) -> bool:
        """Whether the object is there."""
        return bool(self.run("get", kind, name, "--ignore-not-found", "-o", "name").strip())


def condition(obj: Object, kind: str) -> Object:
    """The condition of that type, or an empty object."""
    for found in obj.get("status", {}).get("conditions", ()):
        if found["type"] == kind:
            return dict(found)
    return {}
