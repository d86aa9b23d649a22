"""What the API server's audit log says of writes."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True)
class Request:
    """One request that the API server has answered."""

    verb: str
    user: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int


@dataclass(frozen=True)
class AuditLog:
    """The audit log from a moment on: `AuditLog.now(path)` remembers where the file ends."""

    path: Path
    start: int

    @classmethod
    def now(cls, path: Path) -> "AuditLog":
        """The log of what comes after this call."""
        return cls(path, path.stat().st_size)

    def requests(self) -> Iterator[Request]:
        """Every answered request since the start."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                entry = json.loads(line)
                what = entry.get("objectRef") or {}
                yield Request(
                    verb=entry["verb"],
                    user=entry["user"].get("username", ""),
                    resource=what.get("resource", ""),
                    subresource=what.get("subresource", ""),
                    namespace=what.get("namespace", ""),
                    name=what.get("name", ""),
                    code=(entry.get("responseStatus") or {}).get("code", 0),
                )

    def writes(self, user: str) -> list[Request]:
        """The writes of one user, token requests left out (they create no object)."""
        return [r for r in self.requests() if r.user == user and r.verb in WRITES and r.subresource != "token"]
