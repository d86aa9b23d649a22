"""What goes wrong with the cache volume, as a failure."""

import errno
from collections.abc import Iterator
from typing import Final

from arriero_api.contract import Phase
from arriero_runtime.failing import StartError, start_error

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_UNUSABLE: Final = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOLCK, errno.EOPNOTSUPP)


def explain(error: OSError, what: str) -> StartError:
    """The failure for an error while `what` was written."""
    return known(error, what) or start_error(
        "DownloadFailed", f"The cache volume fails while {what} is fetched: {error.strerror}.", Phase.DOWNLOADING
    )


def known(error: BaseException, what: str) -> StartError | None:
    """The same where the volume is full or cannot be written, anywhere in the chain; None for all else."""
    for cause in chain(error):
        number = cause.errno if isinstance(cause, OSError) else None
        if number in _FULL:
            return start_error("CacheTooSmall", f"The cache volume is full while {what} is fetched.", Phase.DOWNLOADING)
        if number in _UNUSABLE:
            words = f"The cache volume cannot be written ({errno.errorcode[number or 0]}) for {what}."
            return start_error("CacheUnusable", words, Phase.DOWNLOADING)
    return None


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
