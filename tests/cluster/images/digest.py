"""Digests of inputs: what a cached folder, layer or image was made from decides its name. All are hex SHA-256."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

__all__ = ["of_bytes", "of_files", "of_pins", "of_values", "source_files"]


def of_bytes(data: bytes) -> str:
    """The digest of bytes."""
    return hashlib.sha256(data).hexdigest()


def of_values(*values: object) -> str:
    """The digest of JSON values, the same on every machine and in every process."""
    return of_bytes(json.dumps(values, sort_keys=True).encode())


def of_pins(lock: Path) -> str:
    """The digest of a lock file's pins and hashes; comments do not count."""
    lines = (line.split("#", 1)[0].rstrip() for line in lock.read_text().splitlines())
    return of_values([line for line in lines if line])


def of_files(root: Path, files: Iterable[Path]) -> str:
    """The digest of the names (relative to root) and contents of files."""
    return of_values(sorted((str(file.relative_to(root)), of_bytes(file.read_bytes())) for file in files))


def source_files(package: Path) -> list[Path]:
    """The files of a package folder, without compiled ones, in a stable order."""
    files = (file for file in package.rglob("*") if file.is_file())
    return sorted(file for file in files if "__pycache__" not in file.relative_to(package).parts)
