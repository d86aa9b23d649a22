"""What a pod template refers to outside of itself."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

CONFIG_MAP: Final = "ConfigMap"
SECRET: Final = "Secret"  # noqa: S105 - a kind of object
CLAIM: Final = "PersistentVolumeClaim"
PRIORITY_CLASS: Final = "PriorityClass"
RUNTIME_CLASS: Final = "RuntimeClass"
STORAGE_CLASS: Final = "StorageClass"

CLASSES: Final = (PRIORITY_CLASS, RUNTIME_CLASS, STORAGE_CLASS)

_SYSTEM: Final = "system-"
"""Priority classes of this beginning are built in."""


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """One object that a pod needs. `key` is empty for all keys of its data.

    `optional`: pods start without it. `followed`: running pods see a change of its content by themselves. `one_of`: it
    is of no use without one of these keys; empty: whatever it has.
    """

    kind: str
    name: str
    key: str = ""
    optional: bool = False
    followed: bool = False
    one_of: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.one_of:
            own = (repr(key) for key in self.one_of if not key.isupper())  # others are names of variables
            return f"{self.kind} {self.name!r}, one of the keys {', '.join(own)}"
        return f"{self.kind} {self.name!r}" + (f", key {self.key!r}" if self.key else "")


def references(template: Mapping[str, Any], followed: Iterable[str] = ()) -> tuple[Reference, ...]:
    """All of them, in a stable order, none twice. `followed` are volumes whose Secrets the runtime reads again."""
    spec = template["spec"]
    found = {*_volumes(spec, frozenset(followed)), *_classes(spec)}
    for part in ("initContainers", "containers"):
        for container in spec.get(part) or ():
            found |= {*_environment(container)}
    return tuple(sorted(found))


def _classes(spec: Mapping[str, Any]) -> Iterator[Reference]:
    if (name := spec.get("priorityClassName")) and not name.startswith(_SYSTEM):
        yield Reference(PRIORITY_CLASS, name)
    if name := spec.get("runtimeClassName"):
        yield Reference(RUNTIME_CLASS, name)


def _environment(container: Mapping[str, Any]) -> Iterator[Reference]:
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        yield from _keyed(CONFIG_MAP, source.get("configMapKeyRef"))
        yield from _keyed(SECRET, source.get("secretKeyRef"))
    for source in container.get("envFrom") or ():
        yield from _keyed(CONFIG_MAP, source.get("configMapRef"))
        yield from _keyed(SECRET, source.get("secretRef"))


def _keyed(kind: str, ref: Mapping[str, Any] | None, followed: bool = False) -> Iterator[Reference]:
    if ref and ref.get("name"):
        yield Reference(kind, ref["name"], ref.get("key", ""), bool(ref.get("optional")), followed)


def _volumes(spec: Mapping[str, Any], followed: frozenset[str]) -> Iterator[Reference]:
    for volume in spec.get("volumes") or ():
        live = volume.get("name") in followed
        yield from _source(volume, live)
        for one in (volume.get("projected") or {}).get("sources") or ():
            yield from _items(CONFIG_MAP, one.get("configMap"), "name", live)
            yield from _items(SECRET, one.get("secret"), "name", live)
        ephemeral = ((volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}).get("spec") or {}
        if ephemeral.get("storageClassName"):
            yield Reference(STORAGE_CLASS, ephemeral["storageClassName"])


def _source(volume: Mapping[str, Any], live: bool) -> Iterator[Reference]:
    yield from _items(CONFIG_MAP, volume.get("configMap"), "name", live)
    yield from _items(SECRET, volume.get("secret"), "secretName", live)
    if claim := volume.get("persistentVolumeClaim"):
        yield Reference(CLAIM, claim["claimName"])


def _items(kind: str, source: Mapping[str, Any] | None, name: str, live: bool) -> Iterator[Reference]:
    if not source or not source.get(name):
        return
    for key in [item["key"] for item in source.get("items") or ()] or [""]:
        yield Reference(kind, source[name], key, bool(source.get("optional")), live)
