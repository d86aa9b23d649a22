"""The OpenAPI document of port 8080: the engine's own, less what is not served."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from arriero_runtime.engine.protocol import Send
from arriero_runtime.server.answers import reply
from arriero_runtime.server.routes import OPEN, PLAIN

_KEY: Final = "apiKey"


class Document:
    """Made once, when somebody asks for it. `read` gives the engine's; `keys`: whether requests need one."""

    def __init__(self, read: Callable[[], Mapping[str, Any]], *, keys: bool) -> None:
        self._read = read
        self._keys = keys
        self._text = ""

    async def answer(self, send: Send) -> None:
        """The whole response."""
        if not self._text:
            # The engine takes a second for it.
            self._text = json.dumps(served(await asyncio.to_thread(self._read), keys=self._keys))
        await reply(send, 200, self._text)


def served(document: Mapping[str, Any], *, keys: bool) -> dict[str, Any]:
    """What of an application's document holds here."""
    paths = {
        path: {method: about for method, about in methods.items() if method.upper() in PLAIN[path]}
        for path, methods in document.get("paths", {}).items()
        if path in PLAIN
    }
    found = {**document, "info": {"title": "Arriero", "version": "1"}, "paths": paths}
    if keys:
        components = {**document.get("components", {}), "securitySchemes": {_KEY: {"type": "http", "scheme": "bearer"}}}
        found |= {"components": components, "security": [{_KEY: []}]}
        for path in OPEN & paths.keys():
            found["paths"][path] = {method: {**about, "security": []} for method, about in paths[path].items()}
    return found
