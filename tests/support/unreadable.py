"""Files that are there and cannot be read for now."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock


@contextmanager
def no_more_files(file: Path) -> Iterator[mock.Mock]:
    """As where this process has opened as many files as it may; gives what counts the tries to open this one."""
    real, tries = Path.open, mock.Mock()

    def refuse(path: Path, *args: Any, **more: Any) -> Any:
        if path == file:
            tries()
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return real(path, *args, **more)

    with mock.patch.object(Path, "open", refuse):
        yield tries
