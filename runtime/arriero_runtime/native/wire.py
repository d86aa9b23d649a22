"""The requests of Llama Stack's inference API, as of its release 0.2.

Options that are not known here are refused, as they would change the answer. In messages and content they are not, as
clients send back what they were given.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arriero_runtime.native.errors import BadBody

MAX_STOPS = 4
MAX_BATCH = 1024
MAX_INT = 2**31 - 1
NAME = Annotated[str, Field(min_length=1)]


class Options(BaseModel):
    """What a caller chooses."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Data(BaseModel):
    """What a caller passes on."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class Greedy(Options):
    type: Literal["greedy"] = "greedy"


class TopP(Options):
    type: Literal["top_p"]
    temperature: Annotated[float, Field(gt=0)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = 0.95


class TopK(Options):
    type: Literal["top_k"]
    top_k: Annotated[int, Field(ge=1, le=MAX_INT)]


class SamplingParams(Options):
    strategy: Annotated[Greedy | TopP | TopK, Field(discriminator="type")] = Field(default_factory=Greedy)
    max_tokens: Annotated[int, Field(ge=0, le=MAX_INT)] | None = 0
    repetition_penalty: Annotated[float, Field(gt=0)] | None = 1.0
    stop: Annotated[list[NAME], Field(max_length=MAX_STOPS)] | None = None


class Url(Data):
    uri: str


class Image(Data):
    url: Url | None = None
    data: str | None = None


class TextItem(Data):
    type: Literal["text"]
    text: str


class ImageItem(Data):
    type: Literal["image"]
    image: Image


Item = Annotated[TextItem | ImageItem, Field(discriminator="type")]
Content = str | Item | list[Item]


class ToolCall(Data):
    call_id: str
    tool_name: NAME
    arguments: str | dict[str, Any] | None = None
    arguments_json: str | None = None


class UserMessage(Data):
    role: Literal["user"]
    content: Content
    context: Content | None = None


class SystemMessage(Data):
    role: Literal["system"]
    content: Content


class ToolMessage(Data):
    role: Literal["tool"]
    call_id: str
    content: Content


class AssistantMessage(Data):
    role: Literal["assistant"]
    content: Content | None = ""
    stop_reason: str | None = None
    tool_calls: list[ToolCall] | None = None


ChatMessage = Annotated[UserMessage | SystemMessage | ToolMessage | AssistantMessage, Field(discriminator="role")]


class ToolParameter(Options):
    """`items` of a list, `properties` of an object and what stands in them are JSON schema."""

    param_type: str
    title: str | None = None
    description: str | None = None
    required: bool | None = True
    default: Any = None
    enum: Annotated[list[Any], Field(min_length=1)] | None = None
    items: dict[str, Any] | None = None
    properties: dict[str, dict[str, Any]] | None = None


class Tool(Options):
    tool_name: NAME
    description: str | None = None
    parameters: dict[str, ToolParameter] | None = None


class ToolConfig(Options):
    tool_choice: str | None = None
    tool_prompt_format: str | None = None
    system_message_behavior: Literal["append", "replace"] | None = "append"


class JsonSchema(Options):
    type: Literal["json_schema"]
    json_schema: dict[str, Any]


class Grammar(Options):
    type: Literal["grammar"]
    bnf: str | dict[str, Any]


ResponseFormat = Annotated[JsonSchema | Grammar, Field(discriminator="type")]


class LogProbs(Options):
    top_k: Annotated[int, Field(ge=0, le=MAX_INT)] | None = 0


class Common(Options):
    model_id: NAME
    sampling_params: SamplingParams | None = None
    response_format: ResponseFormat | None = None
    logprobs: LogProbs | None = None


class ChatOptions(Common):
    tools: list[Tool] | None = None
    tool_config: ToolConfig | None = None


class Completion(Common):
    content: Content
    stream: bool | None = False


class ChatCompletion(ChatOptions):
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    tool_choice: str | None = None
    tool_prompt_format: str | None = None
    stream: bool | None = False


class BatchCompletion(Common):
    content_batch: Annotated[list[Content], Field(min_length=1, max_length=MAX_BATCH)]


class BatchChatCompletion(ChatOptions):
    messages_batch: Annotated[
        list[Annotated[list[ChatMessage], Field(min_length=1)]], Field(min_length=1, max_length=MAX_BATCH)
    ]


class Embeddings(Options):
    model_id: NAME
    contents: Annotated[list[str | Item], Field(min_length=1)]
    text_truncation: Literal["none", "start", "end"] | None = None
    output_dimension: Annotated[int, Field(ge=1, le=MAX_INT)] | None = None
    task_type: Literal["query", "document"] | None = None


R = TypeVar("R", bound=BaseModel)


def parse(kind: type[R], body: bytes) -> R:
    """The request in a body. Raises BadBody, which names each field that cannot be used."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        raise BadBody([_plain(found) for found in error.errors(include_url=False)]) from error


def _plain(error: Any) -> dict[str, Any]:
    location: Sequence[Any] = error["loc"]
    return {"loc": ["body", *location], "msg": error["msg"], "type": error["type"]}
