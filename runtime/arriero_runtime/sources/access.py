"""Which hub, and as whom: from the environment, as users of the hub's own tools know it."""

import os
from urllib.parse import urlsplit

from huggingface_hub import constants


def address() -> str:
    """The hub's address, `HF_ENDPOINT` or the public hub's."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or constants.ENDPOINT


def shown() -> str:
    """The address without credentials, for people."""
    parts = urlsplit(address())
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def token() -> str | bool:
    """The pod's token, or False: nothing else on the machine is looked for."""
    return os.environ.get("HF_TOKEN", "").strip() or False
