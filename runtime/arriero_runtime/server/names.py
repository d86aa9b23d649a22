"""The names that clients may call, as the file of registrations has them now."""

import logging

from arriero_runtime.engine.protocol import Engine
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.registrations import Applied
from arriero_runtime.server.adapters import Adapters

log = logging.getLogger(__name__)


class Names:
    """Holds the names before there is an engine, and changes them in the engine later. Adapters have `adapters`."""

    def __init__(self, life: LifeCycle) -> None:
        self._life = life
        self._engine: Engine | None = None
        self.applied: Applied | None = None
        self.adapters = Adapters(life)

    @property
    def current(self) -> tuple[str, ...]:
        """In order, the model's own first."""
        return self.applied.names if self.applied else ()

    def apply(self, applied: Applied) -> None:
        """Serve these names from now on, and say so."""
        self.applied = applied
        if self._engine is not None:
            self._engine.rename(applied.names)
            log.info("names: %s", ", ".join(applied.names))
        # Before the hash is told: whoever sees it finds the state of each adapter beside it.
        self.adapters.apply(applied.registrations.adapters)
        self._life.names(applied.names, applied.hash)

    def attach(self, engine: Engine) -> None:
        """The engine to change from now on; brings it up to date with what has changed while it was loading."""
        self._engine = engine
        engine.rename(self.current)

    async def detach(self) -> None:
        """The engine is about to end: nothing of it is kept."""
        self._engine = None
        await self.adapters.detach()

    def clear(self) -> None:
        """No name is served any more, and none is waited for."""
        self.applied = None
        self._life.names((), "")
