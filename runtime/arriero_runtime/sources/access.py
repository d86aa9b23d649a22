"""As whom, and by which way, a source is asked: from the files of a Secret, read anew for each fetch.

Without a Secret the environment counts, as users of the hub's own tools know it: HF_ENDPOINT, HF_TOKEN, HTTPS_PROXY.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from huggingface_hub import constants

from arriero_api import credentials, pod
from arriero_api.contract import Phase
from arriero_runtime import hiding
from arriero_runtime.failing import StartError, start_error

OFFLINE: Final = bool(constants.HF_HUB_OFFLINE)
"""What the pod's environment asks for, before the engine's start takes this process off line."""
_PROXY_VARIABLES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_LARGEST: Final = 1024 * 1024
_ADDRESSES: Final = (credentials.ENDPOINT, credentials.PROXY)
_KEYS_OF_ACCOUNTS: Final = ("private_key", "private_key_id", "refresh_token", "client_secret")


@dataclass(frozen=True, slots=True)
class Access:
    """What one fetch goes by. `values` are secret: key of `arriero_api.credentials` → stripped text."""

    scheme: str
    secret: str = ""
    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    def value(self, key: str) -> str:
        """Empty where the Secret does not say."""
        return self.values.get(key, "")

    @property
    def ca(self) -> str:
        """Certificates (PEM) to trust beside those of the image."""
        return self.value(credentials.CA)

    @property
    def proxied(self) -> bool:
        """Whether requests may go through a forward proxy."""
        found = (os.environ.get(name) or os.environ.get(name.lower()) for name in _PROXY_VARIABLES)
        return bool(self.value(credentials.PROXY)) or any(found)


def read(scheme: str, secret: str, folder: Path = Path(pod.CREDENTIALS_DIR)) -> Access:
    """What the Secret says now; nobody's access where `secret` is empty. Raises StartError (CredentialsMissing)."""
    if not secret:
        return Access(scheme)
    known = credentials.keys(scheme)
    found = {key.name: text for key in known if (text := _first(folder / secret, key.names))}
    if not found:
        words = f"is not there, or has no key that {scheme}:// can be asked with"
        raise _missing(f"The Secret {secret} {words}: one of {credentials.told(scheme)}.")
    for key, other in credentials.TOGETHER.get(scheme, ()):
        if key in found and other not in found:
            raise _missing(f"The Secret {secret} has the key {key}, and not {other}, without which it is of no use.")
    hiding.learn(_secret_parts(found))
    return Access(scheme, secret, found)


def _secret_parts(values: Mapping[str, str]) -> Iterator[str]:
    """What must not be told of a Secret's values: passwords of addresses, and of all else the whole, and the parts of
    what is JSON."""
    for name, value in values.items():
        if name in _ADDRESSES:
            with contextlib.suppress(ValueError):
                yield urlsplit(value).password or ""
        elif name not in credentials.OPEN:
            yield value
            yield from _parts(value)


def _parts(value: str) -> Iterator[str]:
    try:
        found = json.loads(value)
    except ValueError:
        return
    for name in _KEYS_OF_ACCOUNTS if isinstance(found, dict) else ():
        if isinstance(part := found.get(name), str):
            yield from (part, *part.splitlines())


def hub_address(access: Access) -> str:
    """The hub's address: the Secret's, `HF_ENDPOINT` or the public hub's."""
    said = access.value("endpoint") or os.environ.get("HF_ENDPOINT", "")
    return said.rstrip("/") or str(constants.ENDPOINT)


def hub_token(access: Access) -> str | bool:
    """The token, or False: nothing else on the machine is looked for, and the environment's is for its own hub."""
    if access.secret:
        return access.value("token") or False
    return os.environ.get("HF_TOKEN", "").strip() or False


def shown(address: str) -> str:
    """An address without credentials, for people."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")


def require_online(what: str) -> None:
    """Raises StartError (SourceOffline) where the environment forbids every request."""
    if OFFLINE:
        raise start_error("SourceOffline", f"{what} is not in the cache, and HF_HUB_OFFLINE is set.", Phase.RESOLVING)


def _first(folder: Path, names: tuple[str, ...]) -> str:
    for name in names:
        try:
            with (folder / name).open(encoding="utf-8") as file:
                text = file.read(_LARGEST).strip()
        except (OSError, UnicodeDecodeError):
            continue
        if text:
            return text
    return ""


def _missing(words: str) -> StartError:
    return start_error("CredentialsMissing", words, Phase.RESOLVING)
