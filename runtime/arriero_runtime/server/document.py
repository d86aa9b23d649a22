"""The OpenAPI document of port 8080: the engine's own, less what is not served, and the Llama Stack routes."""

import asyncio
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from arriero_runtime.engine.protocol import Send
from arriero_runtime.native import operations
from arriero_runtime.server.answers import reply
from arriero_runtime.server.routes import OPEN, OPENAI_PREFIX

PATH: Final = "/openapi.json"
"""The one route that the document leaves out: itself."""
_SCHEMES: Final[Mapping[str, Mapping[str, str]]] = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
}
"""The ways in which a key can be sent; one is enough. See `keys`."""
_TEXT: Final = {"200": {"description": "Prometheus's text format.", "content": {"text/plain": {}}}}
_PLAIN: Final[operations.Described] = {
    "/health": {"get": {"summary": "Whether the model is ready.", "responses": {"200": {"description": "It is."}}}},
    "/metrics": {"get": {"summary": "What the server and its engine count.", "responses": _TEXT}},
}
"""What is answered here, or where the engine's application has another one inside, which its document leaves out."""
Table = Mapping[str, Collection[str]]
"""Path → methods."""


class Document:
    """Made once, when somebody asks for it. `table` gives the routes that can be answered, `read` the engine's own
    document; `keys` tells whether requests need one. `registers`: clients say which model is served."""

    def __init__(
        self,
        table: Callable[[], Table],
        read: Callable[[], Mapping[str, Any]],
        *,
        keys: Callable[[], bool],
        registers: bool,
    ) -> None:
        self._table = table
        self._read = read
        self._keys = keys
        self._registers = registers
        self._text = ""

    async def answer(self, send: Send) -> None:
        """The whole response."""
        if not self._text:
            # The engine takes a second for it.
            self._text = await asyncio.to_thread(self._made, self._table())
        await reply(send, 200, self._text)

    def _made(self, table: Table) -> str:
        return json.dumps(served(self._read(), table, keys=self._keys(), registers=self._registers))


def served(engine: Mapping[str, Any], table: Table, *, keys: bool, registers: bool) -> dict[str, Any]:
    """What of the engine's document holds here, and the routes of our own. One that nobody describes is left out."""
    own, schemas = operations.described(registers=registers)
    known: operations.Described = {**engine.get("paths", {}), **_PLAIN, **own}
    paths: operations.Described = {}
    for path, methods in table.items():
        for method in map(str.lower, methods):
            found = known.get(path, {}).get(method)
            if found is None and path.startswith(OPENAI_PREFIX):
                found = _below(known.get(path.removeprefix(OPENAI_PREFIX), {}).get(method))
            if found is not None and path != PATH:
                paths.setdefault(path, {})[method] = found
    components = dict(engine.get("components", {}))
    components["schemas"] = {**components.get("schemas", {}), **schemas}
    document: dict[str, Any] = {"openapi": "3.1.0", "info": {"title": "Arriero", "version": "1"}, "paths": paths}
    if keys:
        components["securitySchemes"] = dict(_SCHEMES)
        document["security"] = [{name: []} for name in _SCHEMES]
        for path in OPEN & paths.keys():
            paths[path] = {method: {**about, "security": []} for method, about in paths[path].items()}
    return {**document, "components": components}


def _below(operation: dict[str, Any] | None) -> dict[str, Any] | None:
    """The same operation, as Llama Stack's clients find it."""
    if operation is None:
        return None
    names = {"operationId": f"llama_stack_{operation['operationId']}"} if "operationId" in operation else {}
    return {**operation, **names}
