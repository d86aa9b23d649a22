"""The answers of the Llama Stack routes, as the document of port 8080 describes them.

They are put together by the code that translates them; tests see that what is sent has these forms.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, RootModel

StopReason = Literal["end_of_turn", "end_of_message", "out_of_tokens"]


class Told(BaseModel):
    """All that there is."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Metric(Told):
    metric: str
    value: int
    unit: str | None


class TokenLogProbs(Told):
    """Of one token and its alternatives, by their text."""

    logprobs_by_token: dict[str, float]


class Counted(Told):
    """With the engine's own count of tokens; in a stream it stands in the last chunk."""

    metrics: list[Metric] | None


class CompletionResponse(Counted):
    content: str
    stop_reason: StopReason
    logprobs: list[TokenLogProbs] | None


class CompletionChunk(Counted):
    """The last one has a reason."""

    delta: str
    stop_reason: StopReason | None
    logprobs: list[TokenLogProbs] | None


class BatchCompletionResponse(Told):
    """In the order of the items."""

    batch: list[CompletionResponse]


class MadeCall(Told):
    call_id: str
    tool_name: str
    arguments: dict[str, Any]
    arguments_json: str


class CompletionMessage(Told):
    role: Literal["assistant"]
    content: str
    stop_reason: StopReason
    tool_calls: list[MadeCall]


class ChatCompletionResponse(Counted):
    completion_message: CompletionMessage
    logprobs: list[TokenLogProbs] | None


class TextDelta(Told):
    type: Literal["text"]
    text: str


class ToolCallDelta(Told):
    """A call is an object where it succeeded, and else text."""

    type: Literal["tool_call"]
    tool_call: str | MadeCall
    parse_status: Literal["started", "in_progress", "failed", "succeeded"]


class ChatEvent(Told):
    event_type: Literal["start", "progress", "complete"]
    delta: TextDelta | ToolCallDelta
    logprobs: list[TokenLogProbs] | None
    stop_reason: StopReason | None


class ChatCompletionChunk(Counted):
    event: ChatEvent


class BatchChatCompletionResponse(Told):
    """In the order of the items."""

    batch: list[ChatCompletionResponse]


class EmbeddingsResponse(Told):
    """In the order of the contents."""

    embeddings: list[list[float]]


class Health(Told):
    """`detail` says what the model waits for."""

    status: Literal["OK", "Error"]
    detail: str = ""


class Version(Told):
    version: str


class ProviderHealth(Told):
    status: Literal["OK", "Error"]
    message: str = ""


class Provider(Told):
    """`config` are the engine's values in force."""

    api: Literal["inference"]
    provider_id: str
    provider_type: str
    config: dict[str, str | int | bool]
    health: ProviderHealth


class Providers(Told):
    data: list[Provider]


class RouteInfo(Told):
    route: str
    method: str
    provider_types: list[str]


class Routes(Told):
    data: list[RouteInfo]


class ServedModel(BaseModel):
    """The members of the OpenAI API and of Llama Stack's, and what vLLM adds."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    root: str
    parent: str | None
    identifier: str
    type: Literal["model"]
    model_type: Literal["llm", "embedding"]
    provider_id: str
    provider_resource_id: str
    metadata: dict[str, Any]
    custom_metadata: dict[str, Any]


class ServedModels(Told):
    object: Literal["list"]
    data: list[ServedModel]


class Gone(RootModel[None]):
    """Nothing is left to be told of."""


class Refusal(BaseModel):
    """An error. Some have more members, such as the phase of a model that is not ready."""

    detail: str


class BodyFault(Told):
    loc: list[str | int]
    msg: str
    type: str


class BodyFaults(Told):
    errors: list[BodyFault]


class BadBodyDetail(Told):
    detail: BodyFaults


class BadBody(Told):
    """A body that has not the form of the request."""

    error: BadBodyDetail


class OpenAIErrorDetail(BaseModel):
    """`type` may be a reason of the catalogue where a model could not be loaded."""

    message: str
    type: str
    param: str | None
    code: int


class OpenAIError(Told):
    error: OpenAIErrorDetail
