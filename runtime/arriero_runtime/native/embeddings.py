"""Embeddings, from Llama Stack's form to that of the OpenAI API and back."""

from collections.abc import Mapping
from typing import Any, Final

from arriero_runtime.native import content, wire
from arriero_runtime.native.errors import invalid

_CUT: Final = {"start": "left", "end": "right"}
"""Where text may be cut → the engine's word for it."""


def payload(request: wire.Embeddings, name: str) -> dict[str, Any]:
    """The request to the engine. Raises Refused. A text that is too long is an error unless it may be cut."""
    if request.task_type is not None:
        words = "is not supported: put what the model wants before a query or a document into its text"
        raise invalid("task_type", words)
    texts = [content.text(item, f"contents[{number}]", "") for number, item in enumerate(request.contents)]
    found: dict[str, Any] = {"model": name, "input": texts, "encoding_format": "float"}
    if side := _CUT.get(request.text_truncation or ""):
        found |= {"truncate_prompt_tokens": -1, "truncation_side": side}
    if request.output_dimension is not None:
        found["dimensions"] = request.output_dimension
    return found


def whole(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An EmbeddingsResponse, in the order of the contents."""
    data = sorted(answer["data"], key=lambda one: one["index"])
    return {"embeddings": [one["embedding"] for one in data]}
