"""What pods said as they ended: their last status is seen before they are gone, and gone when it is asked for."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from arriero_api import pod
from arriero_api.contract import ContractError, Shutdown
from arriero_operator.kube.protocol import Object

_REMEMBERED: Final = 4096


@dataclass(frozen=True, slots=True)
class Tally:
    """How the requests of pods that are gone have ended; `silent` pods did not say."""

    shutdown: Shutdown = field(default_factory=Shutdown)
    silent: int = 0

    def plus(self, words: Iterable[Shutdown | None]) -> "Tally":
        """With more pods."""
        told = list(words)
        total = sum((one for one in told if one is not None), self.shutdown)
        return Tally(total, self.silent + told.count(None))

    def sentence(self) -> str:
        """For people."""
        counted = f"Requests since the stop: {self.shutdown.completed} completed, {self.shutdown.aborted} aborted"
        pods = "1 pod" if self.silent == 1 else f"{self.silent} pods"
        return f"{counted}; {pods} did not say." if self.silent else f"{counted}."


class LastWords:
    """Of pods that are gone, by uid; the oldest are forgotten."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Shutdown] = OrderedDict()

    def gone(self, last_seen: Object) -> None:
        """The pod is gone; this is how it was last seen."""
        found = shutdown(last_seen)
        if found is not None:
            self._known[last_seen["metadata"]["uid"]] = found
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def of(self, uid: str) -> Shutdown | None:
        """How its requests ended; None where it did not say."""
        return self._known.get(uid)


def shutdown(seen: Object) -> Shutdown | None:
    """What the runtime's container said at a stop that was asked for; None where it runs, failed or said nothing."""
    for container in (seen.get("status") or {}).get("containerStatuses") or ():
        ended = (container.get("state") or {}).get("terminated")
        if container["name"] == pod.CONTAINER and ended:
            try:
                return Shutdown.from_json(ended.get("message") or "")
            except ContractError:
                return None
    return None
