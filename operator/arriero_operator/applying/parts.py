"""What each field manager wants of an object, and what of it is known to be in force."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from arriero_operator.applying import marks
from arriero_operator.kube.protocol import Object

_SYSTEM_ANNOTATIONS: Final = "deployment.kubernetes.io/"


@dataclass(frozen=True)
class Part:
    """What one field manager wants of an object. `opening` is applied before, where the object does not exist yet."""

    manager: str
    intent: Object
    opening: Object | None = None

    @cached_property
    def digest(self) -> str:
        """Of the intent."""
        return marks.digest(self.intent)


@dataclass(slots=True)
class Applied:
    """What is in force of each manager, by its digest, and how the object looked then."""

    intents: dict[str, str] = field(default_factory=dict)
    looks: str = ""
    version: str = ""
    """Its resourceVersion when it was last seen to look so."""

    def fits(self, live: Mapping[str, Any]) -> bool:
        """Whether the object looks as it did."""
        version = live["metadata"]["resourceVersion"]
        if version == self.version:
            return True
        same = self.looks == looks(live)
        if same:
            self.version = version
        return same

    def saw(self, live: Mapping[str, Any]) -> None:
        """The object looks as it is to."""
        self.looks, self.version = looks(live), live["metadata"]["resourceVersion"]


def recalled(live: Object, parts: Sequence[Part]) -> Applied:
    """What the object tells of the parts that are in force."""
    held = {part.manager: part.digest for part in parts if marks.holds(live, part.manager, part.intent)}
    return Applied(held, looks(live))


def settling(live: Object, parts: Sequence[Part]) -> list[Part]:
    """The parts other than the one that made the object for all, with what it has: each becomes an owner of its own
    fields before the one lets go of them, which would fall back to the API server's defaults otherwise."""
    return [Part(part.manager, _as_is(live, part.intent)) for part in parts if part.opening is None]


def _as_is(live: Any, said: Any) -> Any:
    """The fields of `said`, with the values of `live`; what is not a field of both stays as it is said."""
    if isinstance(said, Mapping) and isinstance(live, Mapping):
        return {key: _as_is(live[key], value) if key in live else value for key, value in said.items()}
    return said if live is None or isinstance(live, list) else live


def looks(live: Mapping[str, Any]) -> str:
    """Text that changes whenever somebody changes what Arriero may own of the object, but not with its status."""
    metadata = live["metadata"]
    annotations = metadata.get("annotations") or {}
    own = {key: value for key, value in annotations.items() if not key.startswith(_SYSTEM_ANNOTATIONS)}
    version = metadata.get("generation") or metadata["resourceVersion"]
    owners = metadata.get("ownerReferences") or []
    return json.dumps([metadata["uid"], version, metadata.get("labels") or {}, own, owners], sort_keys=True)
