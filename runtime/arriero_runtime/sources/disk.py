"""What goes wrong with the cache volume, as a failure."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from arriero_api.contract import Phase
from arriero_runtime.failing import StartError, start_error

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_UNUSABLE: Final = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOLCK, errno.EOPNOTSUPP)


def explain(error: OSError, what: str) -> StartError:
    """The failure for an error of the disk while `what` was written."""
    if error.errno in _FULL:
        return start_error("CacheTooSmall", f"The cache volume is full while {what} is fetched.", Phase.DOWNLOADING)
    if error.errno in _UNUSABLE:
        name = errno.errorcode[error.errno]
        words = f"The cache volume cannot be written ({name}) for {what}."
        return start_error("CacheUnusable", words, Phase.DOWNLOADING)
    words = f"The cache volume fails while {what} is fetched: {error.strerror or type(error).__name__}."
    return start_error("DownloadFailed", words, Phase.DOWNLOADING)


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """What the disk raises here is explained: a connection raises errors of the same type and numbers."""
    try:
        yield
    except OSError as error:
        raise explain(error, what) from error
