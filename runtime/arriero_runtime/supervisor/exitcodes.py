"""Exit codes of the container: for people only, the operator reads the termination message."""

from typing import Final

from arriero_api.reasons import REASONS

STOPPED: Final = 0
"""Stopped as asked."""
BROKEN: Final = 1
"""The supervisor itself failed."""
USAGE: Final = 2
"""Its own command line cannot be used."""
PERMANENT: Final = 10
"""A retry cannot mend it: the model, its arguments or its resources must change."""
TRANSIENT: Final = 11
"""It did not start; a retry may succeed."""
UNKNOWN: Final = 12
"""It did not start, for an unknown cause."""
DIED: Final = 13
"""It ended while it served."""
HUNG: Final = 14
"""It made no progress and was ended."""

_BY_REASON: Final = {"EngineFailed": UNKNOWN, "RuntimeExited": BROKEN, "EngineDied": DIED, "EngineHung": HUNG}


def exit_code(reason: str) -> int:
    """The exit code for a failure's reason."""
    if reason in _BY_REASON:
        return _BY_REASON[reason]
    known = REASONS.get(reason)
    return PERMANENT if known and known.permanent else TRANSIENT
