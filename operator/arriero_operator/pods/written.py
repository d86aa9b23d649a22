"""Where a user has written what stands in a pod template: the API server and look-ups know its path in there alone."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from arriero_api import pod
from arriero_api.numbers import whole
from arriero_api.types import Spec

_PATH: Final = re.compile(r"(?:Go struct field \w+\.)?\bspec\.template((?:\.\w+|\[[^\]\s]*\])+)")
_ABOVE: Final = re.compile(r"(\.requests)(: Invalid value: \S+ must be (?:less than or )?equal to (\S+) limit)")
_STEP: Final = re.compile(r"\.?(\w+)|\[([^\]]*)\]")
_FIELDS: Final = {"image": "image", "resources": "resources", "args": "engine.args"}
"""Field of the runtime's container → field of the spec."""
_VOLUMES: Final = {
    "cache": ("cache", ("emptyDir.sizeLimit", "persistentVolumeClaim.claimName")),
    "shm": ("sharedMemory", ()),
    "model": ("model.uri", ()),
    "chat-template": ("engine.chatTemplate.configMapKeyRef", ()),
    "api-key": ("serving.apiKey.secretKeyRef", ()),
}
"""The operator's own volume → field of the spec, and what stands there by the same path as in the volume."""
_KEYS: Final = ("name", "mountPath", "devicePath", "ip")

Json = Mapping[str, Any]
Steps = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Written:
    """One pod template, and what it was made of, as far as that is known.

    `layers` are the podTemplates that were laid over it, with the place where each stands; `profile` is the name of the
    chart's. Without `spec` all is taken for the spec's.
    """

    template: Json
    layers: Sequence[tuple[str, Json]] = ()
    spec: Spec | None = None
    profile: str = ""

    def words(self, message: str) -> str:
        """The API server's `message` about a Deployment with this template, with the user's paths in it."""
        message = _ABOVE.sub(r"\1[\3]\2", message)
        return _PATH.sub(lambda found: self.place(found[1].lstrip(".")), message)

    def place(self, path: str) -> str:
        """Of a path in the template, such as spec.containers[0].resources.limits."""
        steps = [name or _index(inside) for name, inside in _STEP.findall(path)]
        if steps[0] in ("labels", "annotations"):
            steps = ["metadata", *steps]
        if steps[0] != "spec" or len(steps) == 1:
            return self._laid(steps)
        return self._own(steps) or self._laid(steps)

    def _own(self, steps: Steps) -> str:
        """What has a field of its own in the spec; empty for all else."""
        entry = _follow(self.template, steps[:3])
        name = entry.get("name") if isinstance(entry, Mapping) else None
        if steps[1] == "containers" and (name == pod.CONTAINER or steps[2:3] == [0]) and len(steps) > 3:
            return self._runtime(steps[3:])
        if steps[1] == "volumes" and name in _VOLUMES:
            field, same = _VOLUMES[name]
            rest = ".".join(str(step) for step in steps[3:])
            return f"spec.{field}" + (f".{rest}" if rest in same else "")
        return "spec.serving.drainSeconds" if steps[1] == "terminationGracePeriodSeconds" else ""

    def _runtime(self, steps: Steps) -> str:
        field, rest = steps[0], steps[1:]
        if field in ("env", "envFrom"):
            return self._variables(steps)
        if field == "resources":
            return _joined(f"{self._resources(rest)}.resources", rest)
        return _joined(f"spec.{_FIELDS[str(field)]}", rest) if field in _FIELDS else ""

    def _variables(self, steps: Steps) -> str:
        entry = _follow(self.template, ["spec", "containers", 0, *steps[:2]])
        entry = entry if isinstance(entry, Mapping) else {}
        engine = self.spec.engine if self.spec is not None else None
        if steps[0] == "env":
            name = str(entry.get("name", ""))
            mine = name in {one.name for one in (engine.env or ())} if engine else False
        else:
            name = next((str(one.get("name", "")) for one in entry.values() if isinstance(one, Mapping)), "")
            listed = (
                [one.model_dump(by_alias=True, exclude_none=True) for one in (engine.env_from or ())] if engine else []
            )
            mine = entry in listed
        where = f"spec.engine.{steps[0]}" if mine or self.spec is None else f"{self._chart('engine')}.{steps[0]}"
        return _joined(f"{where}[{name}]" if name else where, steps[2:])

    def _resources(self, steps: Steps) -> str:
        """`spec`, or the chart's profile where the spec says nothing of this resource."""
        mine = self.spec.resources if self.spec is not None else None
        said = {**(mine.limits or {}), **(mine.requests or {})} if mine else {}
        return "spec" if self.spec is None or len(steps) < 2 or str(steps[1]).strip("[]") in said else self._chart("")

    def _chart(self, field: str) -> str:
        return f"profiles.{self.profile}" + (f".{field}" if field else "") + " of the chart"

    def _laid(self, steps: Steps) -> str:
        """The last podTemplate that has it; the spec's where none is known to."""
        for where, layer in reversed(self.layers):
            found = _meant(self.template, layer, steps)
            if found is not None:
                return _joined(where, found)
        return _joined("spec.podTemplate", steps)


def _meant(whole: Any, layer: Any, steps: Steps) -> list[str | int] | None:
    """The same steps in what was laid over `whole`: entries of lists have other numbers there. None: not of this."""
    found: list[str | int] = []
    for number, step in enumerate(steps):
        mine = _same(_follow(whole, [step]), layer) if isinstance(step, int) else step
        if mine is None or not _has(layer, mine):
            return [*found, *steps[number:]] if number > 2 else None
        found.append(mine)
        layer, whole = layer[mine], _follow(whole, [step])
    return found


def _has(value: Any, step: str | int) -> bool:
    return step in value if isinstance(value, Mapping) else isinstance(value, list) and isinstance(step, int)


def _same(entry: Any, listed: Any) -> int | None:
    """Which one of a list is this one, by what lists are merged by."""
    for number, one in enumerate(listed if isinstance(listed, list) else ()):
        if one == entry or any(_named(one, key) and _named(one, key) == _named(entry, key) for key in _KEYS):
            return number
    return None


def _named(entry: Any, key: str) -> Any:
    return entry.get(key) if isinstance(entry, Mapping) else None


def _follow(value: Any, steps: Steps) -> Any:
    for step in steps:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _index(inside: str) -> str | int:
    """A number; a key of a map with its brackets."""
    number = whole(inside)
    return f"[{inside}]" if number is None else number


def _joined(head: str, steps: Steps) -> str:
    """`head` and the rest of a path."""
    texts = (f"[{step}]" if isinstance(step, int) else step for step in steps)
    return head + "".join(text if text.startswith("[") else f".{text}" for text in texts)
