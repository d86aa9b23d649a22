"""What a hub says of one file when it is asked for its head alone. Blocking.

Mirrors answer the list of a repository without sizes, which is then asked for file by file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from httpx2 import Client
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]

from arriero_api.numbers import whole
from arriero_runtime.sources.digests import Digest

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_GIT: Final = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Head:
    """`size` in bytes, None where it is not told; `digest` by the file's entity tag, as far as it is one."""

    size: int | None
    digest: Digest | None


def head(client: Client, url: str) -> Head:
    """Raises the client's errors."""
    response = client.head(url, follow_redirects=False)
    # A large file is elsewhere, maybe behind a signed address for GET alone: the hub itself tells of it.
    if response.is_redirect and "X-Linked-Size" not in response.headers:
        response = client.head(url)
    hf_raise_for_status(response)
    told: Mapping[str, str] = response.headers
    size = told.get("X-Linked-Size") or told.get("Content-Length", "")
    mark = told.get("X-Linked-Etag") or told.get("ETag", "")
    return Head(whole(size), _digest(mark.removeprefix("W/").strip('"')))


def _digest(mark: str) -> Digest | None:
    if _SHA256.fullmatch(mark):
        return Digest("sha256", mark)
    return Digest("gitblob", mark) if _GIT.fullmatch(mark) else None
