"""Runtime to operator: why a model does not serve; the termination message of a container that failed."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from arriero_api.contract.document import SCHEMA_VERSION, ContractError, parse

_DETAIL_BYTES: Final = 200
"""Of one detail, where a failure must be cut."""


class Phase(StrEnum):
    """Life cycle of the engine in one pod."""

    EMPTY = "Empty"
    RESOLVING = "Resolving"
    DOWNLOADING = "Downloading"
    LOADING = "Loading"
    WARMING = "Warming"
    READY = "Ready"
    DRAINING = "Draining"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a model does not serve and what to do about it.

    `reason` is a name of `arriero_api.reasons`; `details` holds short facts, such as the largest context that fits.
    """

    reason: str
    message: str
    remedy: str
    phase: Phase = Phase.FAILED
    details: Mapping[str, str | int] = field(default_factory=dict)

    def to_json(self, limit: int | None = None) -> str:
        """One line of JSON of at most `limit` bytes (1024 or more): each long detail is cut, then the message, then
        the remedy; where that is not enough, all details go instead. Never the reason."""
        body = {
            "schemaVersion": SCHEMA_VERSION,
            **asdict(self),
            "phase": self.phase.value,
            "details": dict(self.details),
        }
        if limit is None or _size(body) <= limit:
            return json.dumps(body, ensure_ascii=False)
        for details in ({key: _at_most(value) for key, value in self.details.items()}, {}):
            body |= {"message": self.message, "remedy": self.remedy, "details": details}
            for key in ("message", "remedy"):
                if (surplus := _size(body) - limit) > 0:
                    body[key] = _cut(str(body[key]), surplus)
            if _size(body) <= limit:
                break
        return json.dumps(body, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Failure":
        """Raises ContractError for text that is not a failure of a known schema version."""
        return cls.from_dict(parse(text, "failure"))

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> "Failure":
        """Raises ContractError."""
        try:
            return cls(
                reason=str(body["reason"]),
                message=str(body["message"]),
                remedy=str(body.get("remedy", "")),
                phase=Phase(body.get("phase", Phase.FAILED)),
                details=dict(body.get("details") or {}),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ContractError(f"failure: {error}") from error


def _size(body: Mapping[str, Any]) -> int:
    """Bytes as JSON."""
    return len(json.dumps(body, ensure_ascii=False).encode())


def _at_most(detail: str | int) -> str | int:
    """A detail of at most `_DETAIL_BYTES` as JSON."""
    if isinstance(detail, int):
        return detail
    surplus = len(json.dumps(detail, ensure_ascii=False).encode()) - _DETAIL_BYTES
    return _cut(detail, surplus) if surplus > 0 else detail


def _cut(text: str, surplus: int) -> str:
    """`text` shorter by at least `surplus` bytes as JSON, ending in an ellipsis where something is left."""
    keep = max(0, len(json.dumps(text, ensure_ascii=False).encode()) - 2 - surplus - 3)
    cut = text[:keep]
    while cut and len(json.dumps(cut, ensure_ascii=False).encode()) - 2 > keep:
        cut = cut[:-1]
    return cut + "…" if cut else ""
