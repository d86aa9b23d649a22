"""What pods of a revision were made for. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arriero_api.contract import Registration
from arriero_api.numbers import whole
from arriero_operator.render import arguments, credentials


@dataclass(frozen=True, slots=True)
class Room:
    """What pods of a revision were made for: so many adapters, and these Secrets to ask sources with."""

    adapters: int = 0
    secrets: frozenset[str] = frozenset()

    def knows(self, one: Registration) -> bool:
        """Whether the pods have what the source is asked with."""
        return not one.credentials or one.credentials in self.secrets


def room_of(record: Mapping[str, Any] | None) -> Room:
    """What pods of a revision were made for, by its ControllerRevision; nothing where it is not known."""
    body = ((record or {}).get("data") or {}).get("template") or {}
    containers = (body.get("spec") or {}).get("containers") or ()
    flags = (str(arg) for one in containers for arg in one.get("args") or ())
    found = (flag.removeprefix(arguments.LOADED_FLAG) for flag in flags if flag.startswith(arguments.LOADED_FLAG))
    most = max((whole(amount) or 0 for amount in found), default=0)
    return Room(most, credentials.mounted(body))
