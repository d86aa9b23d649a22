"""The file registrations.json: read at the start, followed while running.

A ConfigMap volume is changed by swapping the link `..data`, so one look at that link and at the file tells of a change.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arriero_api.contract import ContractError, NameKind, Registrations, registrations_hash

POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Applied:
    """A file that could be read. `names` are in the order to serve them: the model's own first, without adapters."""

    registrations: Registrations
    hash: str

    @property
    def names(self) -> tuple[str, ...]:
        own = [entry for entry in self.registrations.names if entry.kind is not NameKind.ADAPTER]
        ordered = sorted(own, key=lambda entry: entry.kind is not NameKind.MODEL)
        return tuple(dict.fromkeys(entry.name for entry in ordered))


class Unreadable(ContractError):
    """The file is missing, or cannot be read for now: nothing is known of its content."""


def read(path: Path) -> Applied:
    """Raises Unreadable, and ContractError for a file that cannot be used."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Unreadable(f"registrations: {path}: {error}") from error
    except UnicodeDecodeError as error:
        raise ContractError(f"registrations: {path}: {error}") from error
    return Applied(Registrations.from_json(text), registrations_hash(text))


async def watch(
    path: Path, start: Applied | None, apply: Callable[[Applied], None], complain: Callable[[str], None]
) -> None:
    """Call `apply` for every changed file, `complain` once for each broken one; never returns.

    A broken file changes nothing: the names that were applied last stay. One that cannot be read is tried again.
    """
    seen: tuple[object, ...] | None = None
    told = ""
    last = start.hash if start else ""
    while True:
        mark = _mark(path)
        if mark == seen:
            told = ""
        else:
            try:
                found = read(path)
            except Unreadable as error:
                if told != str(error):
                    told = str(error)
                    complain(f"{error}; the names stay as they were")
            except ContractError as error:
                seen = mark
                complain(f"{error}; the names stay as they were")
            else:
                seen = mark
                if found.hash != last:
                    last = found.hash
                    apply(found)
        await asyncio.sleep(POLL_SECONDS)


def _mark(path: Path) -> tuple[object, ...]:
    """What changes whenever the file's content does."""
    try:
        target = str((path.parent / "..data").readlink())
    except OSError:
        target = ""
    try:
        stat = path.stat()
    except OSError:
        return (target,)
    return (target, stat.st_ino, stat.st_mtime_ns, stat.st_size)
