"""Shapes of a podTemplate that the operator reads itself; the API server knows all others, and checks them.

Without them nothing could be laid over the pods, nor be looked up for them.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from arriero_api import pod

BYTES: Final = 65_536
"""The most that one podTemplate may have as JSON."""
DEPTH: Final = 64
"""The most maps and lists inside of each other; a pod's own fields need 15."""

_OBJECT_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class _Text:
    """A text; `named`: the name of an object of Kubernetes."""

    named: bool = False


@dataclass(frozen=True, slots=True)
class _Map:
    """A map with fields of these shapes, and others; without `needed` an entry says nothing."""

    fields: Mapping[str, "_Shape"] = field(default_factory=dict)
    needed: str = ""


@dataclass(frozen=True, slots=True)
class _List:
    """A list of such entries; `once`: no two of one name (`entry.needed`); `kept`: null does not take it away."""

    entry: "_Map | _Text"
    once: bool = False
    kept: bool = False


_Shape = _Text | _Map | _List

_TEXT: Final = _Text()
_NAME: Final = _Text(named=True)
_ITEMS: Final = _List(_Map({"key": _TEXT}, "key"))
_CONFIG_MAP: Final = _Map({"name": _NAME, "items": _ITEMS})
_SECRET: Final = _Map({"secretName": _NAME, "items": _ITEMS})
_PROJECTED: Final = _List(_Map({"configMap": _CONFIG_MAP, "secret": _Map({"name": _NAME, "items": _ITEMS})}))
_KEY: Final = _Map({"name": _NAME, "key": _TEXT})
_ALL_KEYS: Final = _Map({"name": _NAME})

_CONTAINER: Final = _Map(
    {
        "name": _TEXT,
        "image": _TEXT,
        "command": _List(_TEXT),
        "args": _List(_TEXT),
        "env": _List(
            _Map({"name": _TEXT, "valueFrom": _Map({"configMapKeyRef": _KEY, "secretKeyRef": _KEY})}, "name"),
        ),
        "envFrom": _List(_Map({"configMapRef": _ALL_KEYS, "secretRef": _ALL_KEYS})),
        "volumeMounts": _List(_Map({"name": _TEXT, "mountPath": _TEXT}, "mountPath"), once=True, kept=True),
        "volumeDevices": _List(_Map({"devicePath": _TEXT}, "devicePath"), once=True),
    },
    "name",
)
_VOLUME: Final = _Map(
    {
        "name": _TEXT,
        "configMap": _CONFIG_MAP,
        "secret": _SECRET,
        "projected": _Map({"sources": _PROJECTED}),
        "persistentVolumeClaim": _Map({"claimName": _NAME}, "claimName"),
        "ephemeral": _Map({"volumeClaimTemplate": _Map({"spec": _Map({"storageClassName": _NAME})})}),
        "image": _Map({"reference": _TEXT}),
    },
    "name",
)
_SPEC: Final = _Map(
    {
        "containers": _List(_CONTAINER, once=True, kept=True),
        "initContainers": _List(_CONTAINER, once=True, kept=True),
        "volumes": _List(_VOLUME, once=True, kept=True),
        "imagePullSecrets": _List(_Map({"name": _NAME}, "name")),
        "hostAliases": _List(_Map({"ip": _TEXT}, "ip")),
        "tolerations": _List(_Map()),
        "priorityClassName": _NAME,
        "runtimeClassName": _NAME,
    }
)


def misshapen(template: Mapping[str, Any], earlier: Iterable[Mapping[str, Any]] = ()) -> list[tuple[str, str]]:
    """Paths in `template`, a partial PodTemplateSpec, by which no pod could be made of it, with what to do.

    `earlier` are those that it is laid over: a container that has its image there needs none here.
    """
    if _deeper(template, DEPTH):
        return [("", f"more than {DEPTH} maps and lists are inside of each other: take out what is not a pod's")]
    size = len(json.dumps(template))
    if size > BYTES:
        return [("", f"it has {size} bytes: at most {BYTES} are taken")]
    spec: Any = template.get("spec") or {}
    return list(_of(_SPEC, spec, ".spec")) or list(_imageless(spec, [one.get("spec") or {} for one in earlier]))


def _deeper(value: Any, depth: int) -> bool:
    """Whether something is deeper; without recursion, as it may be very deep."""
    level: list[Any] = [value]
    for _ in range(depth):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return any(isinstance(one, dict | list) for one in level)


def _of(shape: _Shape, value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(shape, _Text):
        yield from _text(shape, value, path)
    elif isinstance(shape, _List):
        yield from _list(shape, value, path)
    elif not isinstance(value, dict):
        yield path, f"is {_kind(value)}: must be a map"
    else:
        yield from _map(shape, value, path)


def _text(shape: _Text, value: Any, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(value, str):
        yield path, f"is {_kind(value)}: must be a text; put quotes around it"
    elif shape.named and value and not _OBJECT_NAME.fullmatch(value):
        yield path, f"is {value[:80]!r}: must be the name of an object: lower-case letters, digits, - and ."


def _list(shape: _List, value: Any, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(value, list):
        of = "texts" if isinstance(shape.entry, _Text) else "maps"
        yield path, f"is {_kind(value)}: must be a list of {of}"
        return
    seen: dict[str, int] = {}
    for index, one in enumerate(value):
        here = f"{path}[{index}]"
        wrong = list(_of(shape.entry, one, here))
        yield from wrong
        if shape.once and isinstance(shape.entry, _Map) and not wrong:
            name = one[shape.entry.needed]
            if seen.setdefault(name, index) != index:
                yield f"{here}.{shape.entry.needed}", f"is {name!r} as that of [{seen[name]}]: put both into one entry"


def _map(shape: _Map, value: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    if shape.needed and value.get(shape.needed) in (None, ""):
        yield f"{path}.{shape.needed}", "is missing: each entry is merged, or found, by it"
    for name, inner in shape.fields.items():
        given = value.get(name)
        kept = isinstance(inner, _List) and inner.kept and name in value
        if given is not None or kept:
            yield from _of(inner, given, f"{path}.{name}")


def _imageless(spec: Mapping[str, Any], earlier: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Further containers without an image; whether the runtime's has one here is not for this to say."""
    earlier = list(earlier)
    for part in ("containers", "initContainers"):
        known = {one["name"] for layer in earlier for one in layer.get(part) or () if one.get("image")}
        for index, one in enumerate(spec.get(part) or ()):
            given = bool(one.get("image")) if "image" in one else one["name"] in known
            if not given and (part, one["name"]) != ("containers", pod.CONTAINER):
                yield f".spec.{part}[{index}].image", f"is missing: the container {one['name']!r} needs an image"


def _kind(value: Any) -> str:
    """In the words of YAML."""
    if value is None:
        return "null"
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "a map"}
    return kinds.get(type(value), type(value).__name__)
