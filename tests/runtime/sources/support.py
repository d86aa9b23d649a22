"""Fetching as the server does it, from any source."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from arriero_api.contract import Failure
from arriero_runtime.failing import StartError
from arriero_runtime.sources import obtain

WEIGHTS = bytes(range(256)) * 4096
"""1 MiB."""


class Told:
    """What a fetch has reported."""

    def __init__(self) -> None:
        self.percents: list[int] = []
        self.words: list[str] = []

    def __call__(self, percent: int, words: str) -> None:
        self.percents.append(percent)
        self.words.append(words)


def secret(folder: Path, name: str, **keys: str) -> str:
    """A mounted Secret; `ca_crt` is the key ca.crt. Gives its name."""
    place = folder / "credentials" / name
    place.mkdir(parents=True, exist_ok=True)
    for key, value in keys.items():
        (place / key.replace("_", ".")).write_text(value)
    return name


async def fetch(
    folder: Path,
    uri: str,
    credentials: str = "",
    told: Callable[[int, str], None] | None = None,
    revision: str = "",
    code: bool = False,
) -> Path:
    """The model's folder, below the cache `folder/cache`; Secrets are in `folder/credentials`."""
    wanted = obtain.Wanted(uri, revision, "", folder / "cache", credentials, folder / "credentials", code=code)
    resolved = await obtain.resolve(wanted)
    return await resolved.fetch(told or Told())


async def failure(folder: Path, uri: str, credentials: str = "", revision: str = "") -> Failure:
    """Why it cannot be fetched."""
    with pytest.raises(StartError) as caught:
        await fetch(folder, uri, credentials, revision=revision)
    return caught.value.failure


def model(folder: Path, weights: bytes = WEIGHTS) -> Path:
    """Files that look like a model."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def sums(folder: Path) -> None:
    """A SHA256SUMS of all files of the folder, as the command sha256sum writes it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines))


def files(folder: Path) -> list[str]:
    """What a folder holds."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
