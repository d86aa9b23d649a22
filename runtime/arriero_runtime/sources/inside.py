"""The names that sources give their files: theirs to choose, and not to be believed."""

from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Final

PIECE: Final = ".part"
"""What the name of a file ends in that is on its way."""
_NAME_BYTES: Final = 240
"""File systems take 255; the rest is for the endings that stand for a file or a folder on its way."""
_PATH_BYTES: Final = 2000
"""The kernel takes 4,096, the way to the model's folder included."""
_SHOWN: Final = 80


def stays_inside(path: str) -> bool:
    """Whether a file of this name lies in the folder that the name is laid to: relative, and no step of it leads up."""
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def fault(names: Collection[str], shown_folder: str = "its folder") -> str:
    """Why files of these names cannot all be written into one folder, in words that follow a verb like "lists"; empty
    where they can."""
    for name in names:
        if not stays_inside(name):
            return f"what would lie outside of {shown_folder}: {_shown(name)}"
        if words := _no_name(name):
            return f"{words}: {_shown(name)}"
    files = {*names, *(f"{name}{PIECE}" for name in names)}
    for name in names:
        if clash := next((above for above in map(str, PurePosixPath(name).parents) if above in files), ""):
            there = clash if clash in names else clash.removesuffix(PIECE)
            return f"the file {_shown(there)}, and {_shown(name)} as if it were a folder"
    return ""


def _no_name(path: str) -> str:
    try:
        steps = [len(part.encode()) for part in path.split("/")]
    except UnicodeEncodeError:
        return "a file whose name is no text"
    if max(steps) > _NAME_BYTES:
        return f"a file whose name has {max(steps)} bytes, where {_NAME_BYTES} are allowed"
    if sum(steps) > _PATH_BYTES:
        return f"a file whose path has {sum(steps)} bytes, where {_PATH_BYTES} are allowed"
    return ""


def _shown(name: str) -> str:
    return ascii(name) if len(name) <= _SHOWN else f"{name[:_SHOWN]!a}…"
