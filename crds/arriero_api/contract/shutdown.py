"""Runtime to operator: the termination message of a container that was stopped as asked."""

import json
from dataclasses import asdict, dataclass

from arriero_api.contract.document import SCHEMA_VERSION, ContractError, parse


@dataclass(frozen=True, slots=True)
class Shutdown:
    """A stop that was asked for: so many requests ended by themselves since then, so many were cut off."""

    completed: int = 0
    aborted: int = 0

    def __add__(self, other: "Shutdown") -> "Shutdown":
        return Shutdown(self.completed + other.completed, self.aborted + other.aborted)

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps({"schemaVersion": SCHEMA_VERSION, "shutdown": asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> "Shutdown":
        """Raises ContractError for text that is not a shutdown of a known schema version."""
        body = parse(text, "shutdown")
        try:
            return cls(int(body["shutdown"]["completed"]), int(body["shutdown"]["aborted"]))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ContractError(f"shutdown: {error!r}") from error
