"""Claims and classes that specs refer to: looked up when they are first needed, again while they are missing, and with
the periodic resync."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from arriero_operator.kube.errors import NotFound
from arriero_operator.kube.protocol import Kind, Kube, Object

_FRESH: Final = 450.0
"""Seconds for which a claim or class that was found is believed to be there: less than between two resyncs."""
_AGAIN: Final = 5.0
_LONGEST: Final = 60.0
"""Seconds between two looks at a claim or class that is missing; longer each time."""

Place = tuple[str, str, str]
"""Kind, namespace, name."""


@dataclass(slots=True)
class Looked:
    """A claim or class when it was last looked up; `wait` is after how many seconds it is looked for again."""

    found: Object | None
    at: float
    wait: float

    @property
    def modes(self) -> tuple[str, ...]:
        """A claim's access modes."""
        return tuple(((self.found or {}).get("spec") or {}).get("accessModes") or ())


class Lookups:
    """The last looks; only those at what is `wanted` are remembered, as the others would never be forgotten."""

    def __init__(
        self, kube: Kube, wanted: Callable[[Place], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._kube = kube
        self._wanted = wanted
        self._clock = clock
        self._looked: dict[Place, Looked] = {}

    async def look(self, kind: Kind, namespace: str, name: str) -> Looked:
        """As it is, or was a while ago. Raises KubeError."""
        place, now = (kind.kind, namespace, name), self._clock()
        known = self._looked.get(place)
        if known is not None and now < known.at + (_FRESH if known.found else known.wait):
            return known
        try:
            obj: Object | None = await self._kube.get(kind, namespace, name)
        except NotFound:
            obj = None
        wait = min(_LONGEST, known.wait * 2) if known is not None and known.found is None else _AGAIN
        looked = Looked(obj, now, wait)
        if self._wanted(place):
            self._looked[place] = looked
        return looked

    def forget(self, place: Place) -> None:
        """Nobody wants it any more."""
        self._looked.pop(place, None)
