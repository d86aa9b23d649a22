"""What the hub was asked."""

from dataclasses import dataclass

__all__ = ["Seen"]


@dataclass
class Seen:
    """One request and its answer's status; 0 as long as there is none."""

    method: str
    path: str
    status: int
    range: str
    token: str
