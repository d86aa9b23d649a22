"""The Llama Stack routes in the words of OpenAPI."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from arriero_runtime.native import replies, wire
from arriero_runtime.native.registering import RegisterModel
from arriero_runtime.server.routes import INFERENCE, MODELS, OPENAI_PREFIX, PROVIDERS

_PREFIX: Final = "LlamaStack."
"""Of the schemas' names: the engine's document has a ToolCall of its own."""
_REF: Final = f"#/components/schemas/{_PREFIX}{{model}}"
_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
Described = dict[str, dict[str, Any]]
"""Path → method in lower case → operation."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What a route takes and gives. `chunk` is an event of its streams, `answer` None where it never succeeds,
    `errors` the forms that its errors may have."""

    summary: str
    answer: type[BaseModel] | None
    asks: type[BaseModel] | None = None
    chunk: type[BaseModel] | None = None
    errors: tuple[type[BaseModel], ...] = (replies.OpenAIError,)

    @property
    def models(self) -> Iterator[type[BaseModel]]:
        yield from (model for model in (self.asks, self.answer, self.chunk, *self.errors) if model is not None)


_NATIVE: Final = (replies.Refusal, replies.BadBody)
_SERVICE: Final = (replies.Refusal,)
_GET: Final = "get"
_POST: Final = "post"
_DELETE: Final = "delete"
Operations = Mapping[tuple[str, str], Operation]
"""Path and method → operation."""

_COMMON: Final[Operations] = {
    (f"{INFERENCE}/completion", _POST): Operation(
        "Go on with a text.", replies.CompletionResponse, wire.Completion, replies.CompletionChunk, _NATIVE
    ),
    (f"{INFERENCE}/chat-completion", _POST): Operation(
        "Answer a chat.", replies.ChatCompletionResponse, wire.ChatCompletion, replies.ChatCompletionChunk, _NATIVE
    ),
    (f"{INFERENCE}/batch-completion", _POST): Operation(
        "Go on with many texts.", replies.BatchCompletionResponse, wire.BatchCompletion, errors=_NATIVE
    ),
    (f"{INFERENCE}/batch-chat-completion", _POST): Operation(
        "Answer many chats.", replies.BatchChatCompletionResponse, wire.BatchChatCompletion, errors=_NATIVE
    ),
    (f"{INFERENCE}/embeddings", _POST): Operation(
        "Give a vector for each text.", replies.EmbeddingsResponse, wire.Embeddings, errors=_NATIVE
    ),
    ("/v1/health", _GET): Operation("Whether the model is ready.", replies.Health, errors=(replies.Health,)),
    ("/v1/version", _GET): Operation("The runtime's version.", replies.Version, errors=_SERVICE),
    (PROVIDERS, _GET): Operation("The one provider.", replies.Providers, errors=_SERVICE),
    (f"{PROVIDERS}/{{name}}", _GET): Operation("The provider, if it has this name.", replies.Provider, errors=_SERVICE),
    ("/v1/inspect/routes", _GET): Operation("The routes of this model.", replies.Routes, errors=_SERVICE),
}
_LISTED: Final[Operations] = {
    ("", _GET): Operation("The names that are served.", replies.ServedModels),
    ("/{name}", _GET): Operation("One of the names.", replies.ServedModel),
}
_FIXED: Final[Operations] = {
    ("", _POST): Operation("Refused: the resource gives the names.", None),
    ("/{name}", _DELETE): Operation("Refused: the resource gives the names.", None),
}
_REGISTERED: Final[Operations] = {
    ("", _POST): Operation("Load a model, or give the loaded one a name.", replies.ServedModel, RegisterModel),
    ("/{name}", _DELETE): Operation("Take a name away, and with the last one the model.", replies.Gone),
}


def operations(*, registers: bool) -> Operations:
    """All of them. `registers`: clients say which model is served."""
    below = {**_LISTED, **(_REGISTERED if registers else _FIXED)}
    parents = (MODELS, OPENAI_PREFIX + MODELS)
    return {
        **_COMMON,
        **{(f"{parent}{path}", method): one for parent in parents for (path, method), one in below.items()},
    }


def described(*, registers: bool) -> tuple[Described, dict[str, Any]]:
    """The operations as OpenAPI 3.1 has them, and the schemas that they name, by name."""
    found = operations(registers=registers)
    models = {model: None for one in found.values() for model in one.models}
    _, whole = models_json_schema([(model, "validation") for model in models], ref_template=_REF)
    paths: Described = {}
    for (path, method), operation in found.items():
        paths.setdefault(path, {})[method] = _operation(path, method, operation)
    return paths, {f"{_PREFIX}{name}": schema for name, schema in whole["$defs"].items()}


def _operation(path: str, method: str, operation: Operation) -> dict[str, Any]:
    name = f"{method}{path}".replace("/", "_").replace("{", "").replace("}", "").replace("-", "_")
    found: dict[str, Any] = {
        "operationId": f"llama_stack_{name}",
        "summary": operation.summary,
        "tags": ["Llama Stack"],
    }
    if "{name}" in path:
        schema = {"type": "string", "minLength": 1}
        found["parameters"] = [{"name": "name", "in": "path", "required": True, "schema": schema}]
    if operation.asks is not None:
        found["requestBody"] = {"required": True, "content": {_JSON: {"schema": _named(operation.asks)}}}
    responses = {"default": _response("An error.", _JSON, *operation.errors)}
    if operation.answer is not None:
        responses["200"] = _response("The answer.", _JSON, operation.answer)
        if operation.chunk is not None:
            responses["200"]["content"] |= _response("", _EVENTS, operation.chunk)["content"]
    return {**found, "responses": responses}


def _response(words: str, kind: str, *models: type[BaseModel]) -> dict[str, Any]:
    schemas = [_named(model) for model in models]
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return {"description": words, "content": {kind: {"schema": schema}}}


def _named(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}
