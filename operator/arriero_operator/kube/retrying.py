"""When a request is tried again, and after how long. Pure."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

ATTEMPTS: Final = 5
PATIENCE: Final = 5.0
"""Seconds after which no attempt begins: the queue has all the time, and who waits in between learns what is wrong.
A server that asks for more is reported as Throttled."""
FIRST_WAIT: Final = 0.2

_TRANSIENT: Final = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt.

    `code` is the HTTP status, 0 without an answer; `retry_after` what the server asked for in seconds, 0 for nothing;
    `unsent` is True where the server cannot have seen the request.
    """

    code: int
    retry_after: float = 0.0
    unsent: bool = False


def wait_before_retry(
    failure: Failure,
    attempt: int,
    *,
    repeatable: bool,
    elapsed: float = 0.0,
    jitter: Callable[[], float] = random.random,
) -> float | None:
    """Seconds to wait before the next attempt, or None to give up.

    `attempt` counts from 1; the first one began `elapsed` seconds ago.

    A request that is not repeatable (a create) is tried again only where the server surely did nothing.
    """
    if attempt >= ATTEMPTS or (failure.code and failure.code not in _TRANSIENT):
        return None
    untouched = failure.unsent or failure.code == 429
    if not repeatable and not untouched:
        return None
    backoff: float = FIRST_WAIT * 2 ** (attempt - 1)
    wait = max(failure.retry_after, backoff * (0.5 + 0.5 * jitter()))
    return wait if elapsed + wait <= PATIENCE else None
