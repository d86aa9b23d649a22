"""Events of a watch from the bytes of its answer."""

from collections.abc import AsyncIterator

from arriero_operator.kube.errors import Unavailable
from arriero_operator.kube.parsing import without_managers
from arriero_operator.kube.protocol import Object


async def events(chunks: AsyncIterator[bytes]) -> AsyncIterator[Object]:
    """One JSON object for each line, however the lines are cut into chunks, and however long they are.

    Objects come without their managed fields.
    """
    rest: list[bytes] = []
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest.append(first)
        for following in others:
            line = b"".join(rest)
            rest = [following]
            if line.strip():
                yield _event(line)


def _event(line: bytes) -> Object:
    """Raises Unavailable for what is none: the words of something on the way."""
    try:
        found: Object = without_managers(line)
    except ValueError as error:
        raise Unavailable(f"a watch told what is no event: {line[:100]!r}") from error
    return found
