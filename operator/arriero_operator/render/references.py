"""What a pod template refers to outside of itself."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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
    is of no use without one of these keys, `keys` for people; empty: whatever it has. `where` is the field that refers
    to it, the first of several: by its path in the template, or as the user wrote it.
    """

    kind: str
    name: str
    key: str = ""
    optional: bool = False
    followed: bool = False
    one_of: tuple[str, ...] = ()
    keys: str = field(default="", compare=False)
    where: str = field(default="", compare=False)

    def __str__(self) -> str:
        if self.one_of:
            return f"{self.kind} {self.name!r} with one of the keys {self.keys}"
        return f"{self.kind} {self.name!r}" + (f", key {self.key!r}" if self.key else "")

    @property
    def told(self) -> str:
        """With the field that refers to it."""
        return f"{self} ({self.where})" if self.where else str(self)


def references(template: Mapping[str, Any], followed: Iterable[str] = ()) -> tuple[Reference, ...]:
    """All of them, in a stable order, none twice. `followed` are volumes whose Secrets the runtime reads again."""
    spec = template["spec"]
    listed = [*_volumes(spec, frozenset(followed)), *_classes(spec)]
    for part in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(part) or ()):
            listed += _environment(container, f"spec.{part}[{index}]")
    found: dict[Reference, Reference] = {}
    for one in listed:
        found.setdefault(one, one)
    return tuple(sorted(found))


def _classes(spec: Mapping[str, Any]) -> Iterator[Reference]:
    if (name := spec.get("priorityClassName")) and not name.startswith(_SYSTEM):
        yield Reference(PRIORITY_CLASS, name, where="spec.priorityClassName")
    if name := spec.get("runtimeClassName"):
        yield Reference(RUNTIME_CLASS, name, where="spec.runtimeClassName")


def _environment(container: Mapping[str, Any], where: str) -> Iterator[Reference]:
    for index, variable in enumerate(container.get("env") or ()):
        source, here = variable.get("valueFrom") or {}, f"{where}.env[{index}].valueFrom"
        yield from _keyed(CONFIG_MAP, source.get("configMapKeyRef"), f"{here}.configMapKeyRef")
        yield from _keyed(SECRET, source.get("secretKeyRef"), f"{here}.secretKeyRef")
    for index, source in enumerate(container.get("envFrom") or ()):
        here = f"{where}.envFrom[{index}]"
        yield from _keyed(CONFIG_MAP, source.get("configMapRef"), f"{here}.configMapRef")
        yield from _keyed(SECRET, source.get("secretRef"), f"{here}.secretRef")


def _keyed(kind: str, ref: Mapping[str, Any] | None, where: str) -> Iterator[Reference]:
    if ref and ref.get("name"):
        yield Reference(kind, ref["name"], ref.get("key") or "", bool(ref.get("optional")), where=where)


def _volumes(spec: Mapping[str, Any], followed: frozenset[str]) -> Iterator[Reference]:
    for index, volume in enumerate(spec.get("volumes") or ()):
        live, where = volume.get("name") in followed, f"spec.volumes[{index}]"
        yield from _source(volume, live, where)
        for number, one in enumerate((volume.get("projected") or {}).get("sources") or ()):
            here = f"{where}.projected.sources[{number}]"
            yield from _items(CONFIG_MAP, one.get("configMap"), "name", live, f"{here}.configMap")
            yield from _items(SECRET, one.get("secret"), "name", live, f"{here}.secret")
        ephemeral = ((volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}).get("spec") or {}
        if name := ephemeral.get("storageClassName"):
            yield Reference(STORAGE_CLASS, name, where=f"{where}.ephemeral.volumeClaimTemplate.spec.storageClassName")


def _source(volume: Mapping[str, Any], live: bool, where: str) -> Iterator[Reference]:
    yield from _items(CONFIG_MAP, volume.get("configMap"), "name", live, f"{where}.configMap")
    yield from _items(SECRET, volume.get("secret"), "secretName", live, f"{where}.secret")
    if claim := volume.get("persistentVolumeClaim"):
        yield Reference(CLAIM, claim["claimName"], where=f"{where}.persistentVolumeClaim.claimName")


def _items(kind: str, source: Mapping[str, Any] | None, name: str, live: bool, where: str) -> Iterator[Reference]:
    if not source or not source.get(name):
        return
    for key in [item["key"] for item in source.get("items") or ()] or [""]:
        yield Reference(kind, source[name], key, bool(source.get("optional")), live, where=where)
