"""What Kopf is given to remember objects and the progress of handlers by: nothing, as the handler is stateless."""

from typing import Any

import kopf


class NoDiff(kopf.DiffBaseStorage):
    """Nothing is remembered of an object: Kopf's own storage copies each object of each event to compare it."""

    def build(self, *, body: kopf.Body, extra_fields: Any = None) -> kopf.BodyEssence:
        """Nothing of it."""
        return kopf.BodyEssence({})

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:
        """Nothing was stored."""
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        """Nothing to store."""


class NoProgress(kopf.ProgressStorage):
    """Handlers of events have no progress."""

    def fetch(self, *, key: Any, body: kopf.Body) -> None:
        """Nothing was stored."""

    def store(self, *, key: Any, record: Any, body: kopf.Body, patch: kopf.Patch) -> None:
        """Nothing to store."""

    def purge(self, *, key: Any, body: kopf.Body, patch: kopf.Patch) -> None:
        """Nothing to remove."""

    def touch(self, *, body: kopf.Body, patch: kopf.Patch, value: Any) -> None:
        """Nothing to change."""

    def clear(self, *, essence: kopf.BodyEssence) -> kopf.BodyEssence:
        """As it is."""
        return essence
