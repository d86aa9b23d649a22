"""/v1/health, /v1/version, /v1/providers and /v1/inspect/routes: answered in every phase."""

from collections.abc import Callable, Collection, Mapping
from importlib import metadata
from typing import Any, Final

from arriero_runtime.engine.protocol import Receive, Scope, Send
from arriero_runtime.native.errors import NATIVE
from arriero_runtime.native.facts import PROVIDER_ID, PROVIDER_TYPE, Facts
from arriero_runtime.native.text import to_json
from arriero_runtime.server.answers import RETRY_SECONDS, Refusal, reply
from arriero_runtime.server.routes import PROVIDERS

_UNINSTALLED: Final = "0.0.0"
Table = Mapping[str, Collection[str]]
"""Path → methods."""


class Service:
    """`table` gives the routes of port 8080 that the model can answer."""

    def __init__(self, facts: Facts, table: Callable[[], Table]) -> None:
        self._facts = facts
        self._table = table

    async def health(self, scope: Scope, receive: Receive, send: Send) -> None:
        """OK, or 503 with what the model waits for."""
        if self._facts.ready:
            await _json(send, {"status": "OK"})
        else:
            body = to_json({"status": "Error", "detail": self._words})
            await reply(send, 503, body, {"retry-after": str(RETRY_SECONDS)})

    async def version(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The runtime's own version."""
        try:
            found = metadata.version("arriero")
        except metadata.PackageNotFoundError:
            found = _UNINSTALLED
        await _json(send, {"version": found})

    async def providers(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The one provider that there is."""
        await _json(send, {"data": [self._provider]})

    async def provider(self, scope: Scope, receive: Receive, send: Send) -> None:
        """It alone; 400 for another, as Llama Stack says it."""
        name = scope["path"].removeprefix(f"{PROVIDERS}/")
        if name == PROVIDER_ID:
            await _json(send, self._provider)
        else:
            words = f"Invalid value: provider '{name}' does not exist; there is '{PROVIDER_ID}'."
            await Refusal(400, "", words).send(send, NATIVE)

    async def routes(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Every route that this model can answer; all of them before that is known."""
        data = [
            {"route": path, "method": method, "provider_types": [PROVIDER_TYPE]}
            for path, methods in sorted(self._table().items())
            for method in methods
        ]
        await _json(send, {"data": data})

    @property
    def _words(self) -> str:
        status = self._facts.life.status
        progress = f", {status.progress.message}" if status.progress.message else ""
        return f"The model is not ready: {status.phase.value}{progress}."

    @property
    def _provider(self) -> dict[str, Any]:
        health: dict[str, Any] = {"status": "OK"}
        if not self._facts.ready:
            health = {"status": "Error", "message": self._words}
        return {
            "api": "inference",
            "provider_id": PROVIDER_ID,
            "provider_type": PROVIDER_TYPE,
            "config": dict(self._facts.effective),
            "health": health,
        }


async def _json(send: Send, body: object) -> None:
    await reply(send, 200, to_json(body))
