"""POST, DELETE and GET of /v1/models where clients say which model is served, as the Llama Stack provider did."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from pydantic import BaseModel, ConfigDict, StrictStr, ValidationError

from arriero_api import llama_names, uris
from arriero_runtime.engine.protocol import AsgiApp, Receive, Scope, Send
from arriero_runtime.model import Model
from arriero_runtime.native.facts import PROVIDER_ID
from arriero_runtime.native.models import Models
from arriero_runtime.native.text import to_json
from arriero_runtime.server import answers, refusals
from arriero_runtime.server.answers import reply
from arriero_runtime.server.refusals import RegistrationRefused
from arriero_runtime.server.routes import MODELS
from arriero_runtime.server.wish import Wish

_LARGEST_BODY: Final = 256 * 1024
_BODY_SECONDS: Final = 30.0
_LONGEST_NAME: Final = 253
_KINDS: Final = ("llm", "embedding")
_EMBEDDING: Final = "embedding"
_REVISION: Final = "revision"
"""Key of the metadata that names a branch, tag or commit of the repository."""


class Registrar(Protocol):
    """Who serves what clients register. The first two raise RegistrationRefused."""

    @property
    def app(self) -> AsgiApp | None:
        """The engine's application, while it serves."""

    def wish(self, name: str) -> Wish | None:
        """How this name was registered; None where it is not."""

    async def register(self, wish: Wish) -> None:
        """Returns when the name is served."""

    async def unregister(self, name: str) -> None:
        """Returns when the name is not served any more."""


class RegisterModel(BaseModel):
    """The body of POST /v1/models."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    model_id: StrictStr
    provider_model_id: StrictStr | None = None
    provider_id: StrictStr | None = None
    metadata: dict[str, Any] | None = None
    model_type: StrictStr | None = None


class Registering:
    """The handlers. `registrar` gives None while the server begins."""

    def __init__(self, models: Models, registrar: Callable[[], Registrar | None]) -> None:
        self._models = models
        self._registrar = registrar

    async def all(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The names that are served: none is no error."""
        registrar = self._registrar()
        if registrar is None or registrar.app is None:
            await reply(send, 200, to_json({"object": "list", "data": []}))
        else:
            found = await self._models.found(registrar.app, scope, receive, _metadata(registrar))
            await reply(send, 200, to_json({"object": "list", "data": found}))

    async def get(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One of them; 503 while it is on its way, 404 for a name that is not registered."""
        registrar, name = self._registrar(), _name(scope)
        served = self._models.served_name(name)
        if registrar is None or registrar.wish(served) is None:
            await self._models.unknown(name).send(send)
        elif registrar.app is None:
            await answers.not_ready(*self._models.phase).send(send)
        else:
            await self._reply(registrar, registrar.app, served, scope, receive, send)

    async def add(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Load the model that the body names, or give the one that is loaded one more name."""
        registrar = self._registrar()
        try:
            if registrar is None:
                raise refusals.stopping()
            body = await _read(receive)
            if body is None:
                return
            wish = _wish(body)
            await registrar.register(wish)
        except RegistrationRefused as refused:
            await refused.refusal.send(send)
            return
        app = registrar.app
        if app is None:
            await answers.not_ready(*self._models.phase).send(send)
        else:
            await self._reply(registrar, app, wish.name, scope, receive, send)

    async def remove(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take the name away, and with the last one the model."""
        registrar = self._registrar()
        try:
            if registrar is None:
                raise refusals.stopping()
            await registrar.unregister(self._models.served_name(_name(scope)))
        except RegistrationRefused as refused:
            await refused.refusal.send(send)
        else:
            await reply(send, 200, "null")

    async def _reply(
        self, registrar: Registrar, app: AsgiApp, name: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        for model in await self._models.found(app, scope, receive, _metadata(registrar)):
            if model["id"] == name:
                await reply(send, 200, to_json(model))
                return
        await self._models.unknown(name).send(send)


def _metadata(registrar: Registrar) -> Callable[[str], Mapping[str, Any]]:
    def of(name: str) -> Mapping[str, Any]:
        wish = registrar.wish(name)
        return wish.metadata if wish else {}

    return of


def _name(scope: Scope) -> str:
    name: str = scope["path"].rpartition(f"{MODELS}/")[2]
    return name


async def _read(receive: Receive) -> bytes | None:
    """None when the client has gone. Raises RegistrationRefused for a body that is too large or comes too slowly."""
    try:
        return await asyncio.wait_for(_whole(receive), _BODY_SECONDS)
    except TimeoutError as error:
        raise refusals.invalid("body", f"did not come within {_BODY_SECONDS:g} seconds") from error


async def _whole(receive: Receive) -> bytes | None:
    data = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        data += message.get("body", b"")
        if len(data) > _LARGEST_BODY:
            raise refusals.invalid("body", f"is larger than {_LARGEST_BODY // 1024} KiB")
        if not message.get("more_body", False):
            return bytes(data)


def _wish(body: bytes) -> Wish:
    """Raises RegistrationRefused that names the field."""
    try:
        asked = RegisterModel.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "body"
        raise refusals.invalid(where, str(first["msg"])) from error
    if not asked.model_id.strip() or len(asked.model_id) > _LONGEST_NAME or not asked.model_id.isprintable():
        raise refusals.invalid("model_id", f"must be 1 to {_LONGEST_NAME} printable characters")
    if asked.provider_id not in (None, PROVIDER_ID):
        raise refusals.invalid("provider_id", f"{asked.provider_id!r} does not exist; there is {PROVIDER_ID!r}")
    if asked.model_type not in (None, *_KINDS):
        raise refusals.invalid("model_type", f"{asked.model_type!r} is not one of {', '.join(_KINDS)}")
    metadata = asked.metadata or {}
    revision = metadata.get(_REVISION, "")
    if not isinstance(revision, str):
        raise refusals.invalid(f"metadata.{_REVISION}", "must be a branch, tag or commit")
    shown = asked.provider_model_id or asked.model_id
    model = Model(uri_of(shown), revision, pooling=asked.model_type == _EMBEDDING)
    return Wish(asked.model_id, model, shown, asked.model_type or "", metadata)


def uri_of(shown: str) -> str:
    """Where the model comes from: a Llama Stack name, a hub repository, a folder, or a URI as it stands."""
    if "://" in shown:
        found = shown
    elif shown.startswith("/"):
        found = f"file://{shown}"
    else:
        found = f"hf://{llama_names.repository_of(shown) or shown}"
    try:
        return str(uris.parse(found))
    except uris.UriError as error:
        words = f"{shown!r} is no Llama Stack name, no repository (ORG/NAME), no folder and no URI: {error}"
        raise refusals.invalid("provider_model_id", words) from error
