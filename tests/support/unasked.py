"""Parts of the API server's protocol that a fake does not have, for tests that never use them."""

from collections.abc import AsyncGenerator, AsyncIterator

from arriero_operator.kube.protocol import Kind, Object, Objects, Scope


class Unasked:
    """A base of fakes: whoever uses these parts has the wrong fake."""

    def each(self, kind: Kind, namespace: str | None = None, labels: str = "") -> AsyncIterator[Object]:
        """Not there."""
        raise AssertionError(f"this fake lists no {kind.plural}")

    def listing(self, scope: Scope) -> AsyncIterator[tuple[str, Objects]]:
        """Not there."""
        raise AssertionError(f"this fake lists no {scope.kind.plural}")

    def watch(self, scope: Scope, version: str, *, seconds: int, silence: float) -> AsyncGenerator[Object, None]:
        """Not there."""
        raise AssertionError(f"this fake follows no {scope.kind.plural}")

    async def events_about(self, namespace: str, uid: str) -> Objects:
        """Not there."""
        raise AssertionError("this fake knows no Events")

    async def try_create(self, kind: Kind, obj: Object) -> None:
        """Not there."""
        raise AssertionError(f"this fake tries no {kind.plural}")
