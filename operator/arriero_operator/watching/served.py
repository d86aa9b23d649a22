"""Which of the watched namespaces are served: one of several may go, and the others are served on."""

import asyncio
from collections.abc import Iterable


class Served:
    """`named` are the namespaces that the operator is told to watch, none of them: all, and then none can be lost.

    Whoever is refused in a namespace (403) says so by `lose`; the last one that is served cannot be lost.
    """

    def __init__(self, named: Iterable[str]) -> None:
        self.named = tuple(named)
        self.lost: dict[str, str] = {}
        """Why each namespace that is not served is not: what the API server said."""
        self.change = asyncio.Event()
        """Of the next change: set once, and followed by another event. Taken before a look at what is served."""

    def has(self, namespace: str) -> bool:
        """Whether the namespace is served."""
        return namespace not in self.lost

    def there(self) -> tuple[str, ...]:
        """The named namespaces that are served; of none named: none."""
        return tuple(name for name in self.named if name not in self.lost)

    def lose(self, namespace: str, because: str) -> bool:
        """Serve it no more; False where it is the last one or not named: there is nothing left to go on with then."""
        if namespace in self.lost:
            return True
        there = self.there()
        if namespace not in there or len(there) == 1:
            return False
        self.lost[namespace] = because
        self._changed()
        return True

    def regain(self, namespace: str) -> None:
        """Serve it again."""
        if self.lost.pop(namespace, None) is not None:
            self._changed()

    async def until(self, namespace: str, *, served: bool) -> None:
        """Wait until the namespace is `served`, or is not any more."""
        while True:
            change = self.change
            if self.has(namespace) is served:
                return
            await change.wait()

    def _changed(self) -> None:
        before, self.change = self.change, asyncio.Event()
        before.set()
