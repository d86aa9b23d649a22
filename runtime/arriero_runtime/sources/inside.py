"""The names that sources give their files: theirs to choose, and not to be believed."""


def stays_inside(path: str) -> bool:
    """Whether a file of this name lies in the folder that the name is laid to: relative, and no step of it leads up."""
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))
