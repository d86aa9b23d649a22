"""The API keys that requests need, in a file that may change at any time."""

import hashlib
import hmac
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Final

Headers = Iterable[tuple[bytes, bytes]]

_BEARER: Final = b"authorization"
_PLAIN: Final = b"x-api-key"
_SCHEME: Final = b"bearer "
_MAX_BYTES: Final = 64 * 1024
log = logging.getLogger(__name__)


class KeysUnusable(ValueError):
    """There is no key in the file, or no file. The text holds nothing of it."""


class KeysUnreadable(KeysUnusable):
    """The file is missing, or cannot be read for now: nothing is known of its content."""


class Keys:
    """Keys are the lines of the file, empty ones left out: with the old key and the new one in it, none of either's
    requests is lost while clients change over. Raises KeysUnusable.

    The file is looked at for each request, so that a change counts from the next one on. A change that leaves no
    usable key is not taken: it could only let everybody in, or nobody. One that cannot be read is tried again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._told = ""
        self._seen = _mark(path)
        self._digests = _read(path)

    def admits(self, headers: Headers) -> bool:
        """Whether one of the keys stands in the headers. Takes as long for any other text of the same length."""
        self._refresh()
        given = _digest(_given(headers))
        # All of them, also after a match: how long it takes shall tell nothing.
        return sum(hmac.compare_digest(given, known) for known in self._digests) > 0

    def _refresh(self) -> None:
        mark = _mark(self._path)
        if mark == self._seen:
            self._told = ""
            return
        try:
            self._digests = _read(self._path)
        except KeysUnreadable as error:
            if self._told != str(error):
                self._told = str(error)
                log.warning("the API keys stay as they were: %s", error)
        except KeysUnusable as error:
            self._seen = mark
            log.warning("the API keys stay as they were: %s", error)
        else:
            self._seen = mark
            log.info("the API keys have changed: %d are known", len(self._digests))


def without_key(headers: Headers) -> list[tuple[bytes, bytes]]:
    """What may go on to the engine, which logs what it is given."""
    return [pair for pair in headers if pair[0] not in (_BEARER, _PLAIN)]


def _given(headers: Headers) -> bytes:
    """Clients of Anthropic's API send a key as it is; one that sends both means the other for somebody else."""
    given = list(headers)
    found = [value for name, value in given if name == _BEARER]
    if not found:
        plain = [value for name, value in given if name == _PLAIN]
        return plain[0].strip() if len(plain) == 1 else b""
    if len(found) != 1 or found[0][: len(_SCHEME)].lower() != _SCHEME:
        return b""
    return found[0][len(_SCHEME) :].strip()


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def _mark(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _read(path: Path) -> tuple[bytes, ...]:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise KeysUnreadable(f"{path}: {error.strerror}") from error
    if len(data) > _MAX_BYTES:
        raise KeysUnusable(f"{path} is larger than {_MAX_BYTES // 1024} KiB")
    keys = tuple(dict.fromkeys(line.strip() for line in data.splitlines() if line.strip()))
    if not keys:
        raise KeysUnusable(f"{path} holds no key")
    return tuple(_digest(key) for key in keys)
