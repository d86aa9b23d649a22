"""What the API server's audit log says of writes."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_DECISION = "authorization.k8s.io/decision"
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True)
class Request:
    """One request that the API server has answered; `allowed`: the user had the right."""

    verb: str
    user: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    allowed: bool = True


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
                    group=what.get("apiGroup", ""),
                    resource=what.get("resource", ""),
                    subresource=what.get("subresource", ""),
                    namespace=what.get("namespace", ""),
                    name=what.get("name", ""),
                    code=(entry.get("responseStatus") or {}).get("code", 0),
                    allowed=(entry.get("annotations") or {}).get(_DECISION) != "forbid",
                )

    def rights(self, user: str) -> set[tuple[str, str, str]]:
        """The rights of which the user has made use, as (group, resource or resource/subresource, verb).

        A server-side apply that made an object needs two: patch, and create. What everybody may ask is left out.
        """
        used = set()
        for one in self.requests():
            if one.user != user or not one.resource or one.group == "authorization.k8s.io" or not one.allowed:
                continue
            what = "/".join(filter(None, (one.resource, one.subresource)))
            used.add((one.group, what, one.verb))
            if one.verb == "patch" and one.code == 201:
                used.add((one.group, what, "create"))
        return used

    def denied(self, user: str) -> list[Request]:
        """The user's requests for which it had no right."""
        return [one for one in self.requests() if one.user == user and not one.allowed]

    def writes(self, user: str) -> list[Request]:
        """The writes of one user, token requests left out (they create no object)."""
        return [r for r in self.requests() if r.user == user and r.verb in WRITES and r.subresource != "token"]
