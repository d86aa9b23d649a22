"""Which Llama Stack route is answered by what."""

from collections.abc import Callable
from typing import Final

from arriero_runtime.engine.protocol import Scope
from arriero_runtime.native import service
from arriero_runtime.native.errors import NATIVE, SILENT
from arriero_runtime.native.facts import Facts
from arriero_runtime.native.inference import Inference
from arriero_runtime.native.models import Models
from arriero_runtime.native.registering import Registering, Registrar
from arriero_runtime.native.renamed import Renamed
from arriero_runtime.native.service import Service
from arriero_runtime.native.undone import cannot_read_done
from arriero_runtime.server import answers
from arriero_runtime.server.routes import (
    CHAT,
    COMPLETIONS,
    EMBEDDINGS,
    INFERENCE,
    MODELS,
    OPENAI_PREFIX,
    PLAIN,
    PROVIDERS,
    RESPONSES,
    Handler,
    Here,
    Kind,
    Methods,
    Route,
)

_OPENAI: Final = (CHAT, COMPLETIONS, RESPONSES, EMBEDDINGS)
"""The routes that are also below /v1/openai."""
_LEAN_ON: Final = {
    f"{INFERENCE}/completion": COMPLETIONS,
    f"{INFERENCE}/batch-completion": COMPLETIONS,
    f"{INFERENCE}/chat-completion": CHAT,
    f"{INFERENCE}/batch-chat-completion": CHAT,
    f"{INFERENCE}/embeddings": EMBEDDINGS,
}
"""What the inference routes ask of the engine's application."""


class Native:
    """The Llama Stack routes of one server."""

    def __init__(self, facts: Facts, registrar: Callable[[], Registrar | None] | None = None) -> None:
        """`registrar` is given where clients register models."""
        self._facts = facts
        own = Service(facts, self.answerable)
        renamed = Renamed(facts)
        listing = Models(facts)
        registered = Registering(listing, registrar) if registrar else None
        self._exact: dict[str, Methods] = {
            "/v1/health": {"GET": Route(Kind.HERE, here=own.health)},
            "/v1/version": {"GET": Route(Kind.HERE, here=own.version)},
            PROVIDERS: {"GET": Route(Kind.HERE, here=own.providers)},
            "/v1/inspect/routes": {"GET": Route(Kind.HERE, here=own.routes)},
            **{f"{OPENAI_PREFIX}{path}": {"POST": _silent(path, renamed)} for path in _OPENAI},
            **_inference(Inference(facts)),
        }
        self._below: dict[str, Methods] = {PROVIDERS: {"GET": Route(Kind.HERE, here=own.provider)}}
        for path in (MODELS, OPENAI_PREFIX + MODELS):
            self._exact[path] = {
                "GET": Route(Kind.LISTING, MODELS, listing.all),
                "POST": Route(Kind.HERE, here=listing.add),
            }
            self._below[path] = {
                "GET": Route(Kind.LISTING, MODELS, listing.get),
                "DELETE": Route(Kind.HERE, here=listing.remove),
            }
            if registered is not None:
                self._exact[path] = _here(GET=registered.all, POST=registered.add)
                self._below[path] = _here(GET=registered.get, DELETE=registered.remove)
        self._old = {path: {"POST": _silent(path, renamed)} for path in _OPENAI}

    def find(self, scope: Scope) -> Methods | None:
        """The methods of the request's path, those of the OpenAI API included; None where there is no such path."""
        path = scope["path"]
        if path in self._old and cannot_read_done(scope):
            return self._old[path]
        return PLAIN.get(path) or self._exact.get(path) or self._named(path)

    def _named(self, path: str) -> Methods | None:
        for parent, methods in self._below.items():
            if path.startswith(f"{parent}/") and len(path) > len(parent) + 1:
                return methods
        return None

    @property
    def paths(self) -> frozenset[str]:
        """All of them, with {name} where a part is free."""
        return frozenset(self._everything())

    def answerable(self) -> service.Table:
        """The methods of each path that this model can answer; of all of them before that is known."""
        has = self._facts.paths()
        found = {}
        for path, methods in self._everything().items():
            needs = {method: _LEAN_ON.get(path, route.needs) for method, route in methods.items()}
            if left := [method for method, need in needs.items() if not need or not has or need in has]:
                found[path] = left
        return found

    def _everything(self) -> dict[str, Methods]:
        below = {f"{parent}/{{name}}": methods for parent, methods in self._below.items()}
        return {**PLAIN, **self._exact, **below}


def _here(**handlers: Here) -> Methods:
    return {method: Route(Kind.HERE, here=handler) for method, handler in handlers.items()}


def _inference(own: Inference) -> dict[str, Methods]:
    handlers: dict[str, Handler] = {
        "completion": own.completion,
        "chat-completion": own.chat_completion,
        "batch-completion": own.batch_completion,
        "batch-chat-completion": own.batch_chat_completion,
        "embeddings": own.embeddings,
    }
    # They need no path: they say themselves what this model cannot answer, in Llama Stack's way.
    return {
        f"{INFERENCE}/{name}": {"POST": Route(Kind.WORK, handler=handler, voice=NATIVE)}
        for name, handler in handlers.items()
    }


def _silent(path: str, renamed: Renamed) -> Route:
    voice = answers.RESPONSES if path == RESPONSES else SILENT
    return Route(Kind.WORK, path, renamed.handle, voice=voice)
