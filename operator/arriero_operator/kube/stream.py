"""Events of a watch from the bytes of its answer."""

import json
from collections.abc import AsyncIterator

from arriero_operator.kube.protocol import Object


async def events(chunks: AsyncIterator[bytes]) -> AsyncIterator[Object]:
    """One JSON object for each line, however the lines are cut into chunks, and however long they are."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield json.loads(line)
