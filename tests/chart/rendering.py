"""Renders the chart with the real helm, as its users do."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.binaries import binaries
from tests.cluster.modules import HELM

Object = dict[str, Any]
CHART = Path(__file__).parents[2] / "charts" / "arriero"
NAMESPACE = "arriero-system"
_SECONDS = 60


class ChartError(Exception):
    """Helm refuses; the text is what it says to the user."""


@dataclass(frozen=True)
class Rendered:
    """The objects of one rendering."""

    objects: tuple[Object, ...]

    def of(self, kind: str) -> list[Object]:
        """All objects of a kind."""
        return [obj for obj in self.objects if obj["kind"] == kind]

    def one(self, kind: str) -> Object:
        """The only object of a kind."""
        found = self.of(kind)
        assert len(found) == 1, f"{len(found)} objects of kind {kind}"
        return found[0]

    @property
    def settings(self) -> str:
        """The text of the operator's settings file."""
        text: str = self.one("ConfigMap")["data"]["settings.yaml"]
        return text

    @property
    def pod(self) -> Object:
        """The template of the operator's pod."""
        template: Object = self.one("Deployment")["spec"]["template"]
        return template


@cache
def program() -> Path:
    """The helm binary; built at the first use on a machine."""
    return binaries(HELM)["helm"] / "helm"


def helm(*arguments: str, stdin: str | None = None) -> str:
    """What helm prints; raises ChartError with its complaint."""
    done = subprocess.run([str(program()), *arguments], input=stdin, capture_output=True, text=True, timeout=_SECONDS)
    if done.returncode != 0:
        raise ChartError(done.stderr)
    return done.stdout


def render(values: Mapping[str, Any] | None = None, apis: Sequence[str] = (), release: str = "arriero") -> Rendered:
    """The chart as `helm install RELEASE` with `values` would send it, on a cluster that also has the `apis`."""
    text = helm(
        "template",
        release,
        str(CHART),
        f"--namespace={NAMESPACE}",
        "--values=-",
        *(f"--api-versions={api}" for api in apis),
        stdin=yaml.safe_dump(dict(values or {})),
    )
    return Rendered(tuple(document for document in yaml.safe_load_all(text) if document))
