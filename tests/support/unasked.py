"""Parts of the API server's protocol that a fake does not have, for tests that never use them."""

from collections.abc import AsyncIterator

from arriero_operator.kube.protocol import Kind, Object, Objects


class Unasked:
    """A base of fakes: whoever uses these parts has the wrong fake."""

    def each(self, kind: Kind, namespace: str | None = None, labels: str = "") -> AsyncIterator[Object]:
        """Not there."""
        raise AssertionError(f"this fake lists no {kind.plural}")

    def follow(self, kind: Kind, namespace: str, labels: str = "") -> AsyncIterator[Object]:
        """Not there."""
        raise AssertionError(f"this fake follows no {kind.plural}")

    async def events_about(self, namespace: str, uid: str) -> Objects:
        """Not there."""
        raise AssertionError("this fake knows no Events")

    async def try_create(self, kind: Kind, obj: Object) -> None:
        """Not there."""
        raise AssertionError(f"this fake tries no {kind.plural}")
