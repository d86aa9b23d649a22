"""Which hub, and as whom: from the environment, as users of the hub's own tools know it."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from huggingface_hub import constants

_WISHED_OFFLINE: Final = bool(constants.HF_HUB_OFFLINE)
"""What the pod's environment asks for, before the engine's start takes this process off line."""
_lock = threading.Lock()
_users: list[bool] = []


def address() -> str:
    """The hub's address, `HF_ENDPOINT` or the public hub's."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or constants.ENDPOINT


def shown() -> str:
    """The address without credentials, for people."""
    parts = urlsplit(address())
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@contextmanager
def as_configured() -> Iterator[None]:
    """The hub's client may ask the hub, unless the pod's environment forbids it; afterwards as before. For threads.

    A running engine has taken its process off line, so that nothing of it ever looks for a model by itself.
    """
    with _lock:
        _users.append(bool(constants.HF_HUB_OFFLINE))
        constants.HF_HUB_OFFLINE = _WISHED_OFFLINE
    try:
        yield
    finally:
        with _lock:
            if len(_users) == 1:
                constants.HF_HUB_OFFLINE = _users[0]
                _users.clear()
            else:
                # Others still ask; what stood before any of them is put back by the last.
                _users.pop()


def token() -> str | bool:
    """The pod's token, or False: nothing else on the machine is looked for."""
    return os.environ.get("HF_TOKEN", "").strip() or False
