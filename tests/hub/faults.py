"""Faults that a test asks the hub for."""

from dataclasses import dataclass
from fnmatch import fnmatch

__all__ = ["Fault", "Faults"]

API = "api"


@dataclass
class Fault:
    """What goes wrong with the requests that `repository` and `path` (shell patterns) match.

    `path` is matched against the file's path, or the word "api" for metadata requests. `times` counts down the
    requests it still applies to; None is for ever. Exactly one of the kinds must be given. Those that spoil a body
    leave HEAD requests alone.
    """

    repository: str = "*"
    path: str = "*"
    times: int | None = None
    status: int | None = None
    """Answer with this code (429, 500, …), and with `retry_after` seconds in Retry-After if that is given."""
    retry_after: int | None = None
    bytes_per_second: int | None = None
    """Send bodies this slowly, for each connection."""
    truncate_at: int | None = None
    """Break the connection at this position of the file, also when a client resumes."""
    garbled: bool = False
    """Send a body of the right length with other content."""
    silent: bool = False
    """Never answer."""

    def __post_init__(self) -> None:
        kinds = [self.status, self.bytes_per_second, self.truncate_at, self.garbled or None, self.silent or None]
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError("a fault needs exactly one of status, bytes_per_second, truncate_at, garbled, silent")

    def hits(self, repository: str, path: str, body: bool) -> bool:
        """Whether it is about such a request."""
        spoils_body = self.garbled or self.bytes_per_second is not None or self.truncate_at is not None
        return fnmatch(repository, self.repository) and fnmatch(path, self.path) and (body or not spoils_body)


class Faults:
    """The faults in force; the newest that matches wins."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Put a fault in force."""
        self._faults.append(fault)

    def clear(self) -> None:
        """All is well again."""
        self._faults.clear()

    def take(self, repository: str, path: str, body: bool) -> Fault | None:
        """The fault for this request, counted as used; `body` tells whether the answer will have one."""
        for fault in reversed(self._faults):
            if fault.times != 0 and fault.hits(repository, path, body):
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None
