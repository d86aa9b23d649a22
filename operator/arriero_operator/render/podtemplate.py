"""How a podTemplate is laid over the pod that the operator makes.

Maps are merged, a null takes a field away. Lists of things with names are merged by name, tolerations are added, other
lists are replaced. `arriero_api.owned_pod` says what is refused beforehand.
"""

from collections.abc import Mapping
from typing import Any, Final

_KEYS: Final = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "imagePullSecrets": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "hostAliases": "ip",
}
_ADDED: Final = ("tolerations",)

Json = dict[str, Any]


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Json:
    """`base` with `over` laid over it; neither is changed."""
    found: Json = dict(base)
    for name, value in over.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = _value(name, found.get(name), value)
    return found


def _value(name: str, base: Any, over: Any) -> Any:
    if isinstance(base, dict) and isinstance(over, dict):
        return merged(base, over)
    if isinstance(base, list) and isinstance(over, list):
        if name in _KEYS:
            return _by_key(_KEYS[name], base, over)
        if name in _ADDED:
            return [*base, *(one for one in over if one not in base)]
    return over


def _by_key(key: str, base: list[Any], over: list[Any]) -> list[Any]:
    """Entries of `base` in their order, then those that it does not have. What has no such name, or none that is a
    text, is added as it is, for the API server to say what is wrong with it."""
    changes = {_named(one, key): one for one in over}
    known = {_named(one, key) for one in base} - {""}
    laid = [
        merged(one, changes[_named(one, key)]) if _named(one, key) in known & changes.keys() else one for one in base
    ]
    return [*laid, *(one for one in over if _named(one, key) not in known)]


def _named(one: Any, key: str) -> str:
    """What an entry of a list is merged by; empty for none."""
    name = one.get(key) if isinstance(one, dict) else None
    return name if isinstance(name, str) else ""
