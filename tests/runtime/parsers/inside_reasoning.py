"""Prints what vLLM's parsers of reasoning make of whole answers and of the same answers token by token, as JSON.

A program of its own, run with the runtime's packages: the folder of a tokenizer, then the parsers' names.
"""

import json
import sys
from typing import Any

from transformers import AutoTokenizer
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.reasoning import ReasoningParserManager

MARKS = {
    "<think>": "</think>",
    "[THINK]": "[/THINK]",
    "<seed:think>": "</seed:think>",
    "<|channel>": "<channel|>",
    "<response>": "</response>",
}
TEXTS = ("Hello there", "{0}why", "{0}why{1}Hello", "why{1}Hello")
REQUEST = ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "x"}])


def whole(parser: Any, text: str) -> str:
    """The content."""
    found: tuple[str | None, str | None] | None = parser.extract_reasoning(text, REQUEST)
    if found is None:
        raise NotImplementedError("reads no texts")
    return found[1] or ""


def streamed(parser: Any, tokenizer: Any, ids: list[int]) -> str:
    """All deltas' content, joined."""
    content, past = "", ""
    for end in range(1, len(ids) + 1):
        text = tokenizer.decode(ids[:end])
        delta = parser.extract_reasoning_streaming(
            past, text, text[len(past) :], ids[: end - 1], ids[:end], [ids[end - 1]]
        )
        content += (delta.content if delta else "") or ""
        past = text
    return content


def both(kind: Any, tokenizer: Any, text: str) -> list[str]:
    """Each by a parser of its own."""
    ids = tokenizer.encode(text, add_special_tokens=False)
    return [whole(kind(tokenizer), text), streamed(kind(tokenizer), tokenizer, ids)]


def main(folder: str, names: list[str]) -> dict[str, Any]:
    """Parser → text → content of the whole answer and of the stream, or why there is no such parser for it."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens([*MARKS, *MARKS.values()])
    texts = sorted({text.format(*pair) for text in TEXTS for pair in MARKS.items()})
    found: dict[str, Any] = {}
    for name in names:
        try:
            kind = ReasoningParserManager.get_reasoning_parser(name)
            found[name] = {text: both(kind, tokenizer, text) for text in texts}
        except (RuntimeError, NotImplementedError) as error:
            found[name] = str(error)
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2:])))
