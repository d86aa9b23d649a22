"""What can be known of a model before its weights are fetched: its configuration, in a folder of its own.

The fetch goes on meanwhile and moves its own folder to another place at its end.
"""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from arriero_runtime.checkpoint import context
from arriero_runtime.sources.files import is_weights
from arriero_runtime.sources.inside import PIECE


class Foretaste:
    """Of one start. `flags` are the engine's; to be closed at the end."""

    def __init__(self, flags: Sequence[str]) -> None:
        self._flags = flags
        self._loop = asyncio.get_running_loop()
        self._found: asyncio.Future[Path | None] = self._loop.create_future()
        self._copy: Path | None = None
        self.closed = False

    def look(self, folder: Path) -> None:
        """In the thread that fetches, with everything but the weights in `folder`. Raises StartError (ContextTooLong)
        where the context that is asked for is surely too long: then no weights are fetched."""
        context.check(folder, self._flags)
        with contextlib.suppress(OSError):  # no room: the engine will see the model itself
            self._copy = Path(tempfile.mkdtemp(prefix="configuration-"))
            for file in folder.rglob("*"):
                if file.is_file() and not is_weights(file.name.removesuffix(PIECE)):
                    place = self._copy / file.relative_to(folder)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file, place)
            if self.closed:
                shutil.rmtree(self._copy, ignore_errors=True)
                return
            self._loop.call_soon_threadsafe(self._tell, self._copy)

    def nothing_more(self) -> None:
        """The model is there: who waits for its configuration alone need not."""
        self._tell(None)

    async def folder(self) -> Path | None:
        """The configuration; None where there is nothing to look at before the model itself."""
        return await asyncio.shield(self._found)

    def close(self) -> None:
        """Take the copy away."""
        self.closed = True
        self._tell(None)
        if self._copy is not None:
            shutil.rmtree(self._copy, ignore_errors=True)

    def _tell(self, folder: Path | None) -> None:
        if not self._found.done():
            self._found.set_result(folder)
