"""A program of its own, with one release of llama-stack-client: `calls.py URL KIND`, KIND text or embeddings.

Makes every call of the client that the server answers, and prints what came back as one JSON object.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from llama_stack_client import APIStatusError, LlamaStackClient

USER = {"role": "user", "content": "What is the capital of France?"}
SHORT = {"max_tokens": 8}
# A random model would never end a text: what it is free to choose is short.
WEATHER = {
    "tool_name": "get_weather",
    "description": "Weather of this place.",
    "parameters": {"exact": {"param_type": "bool", "description": "To the degree.", "required": True}},
}
TOOLS: dict[str, Any] = {"tools": [WEATHER], "tool_config": {"tool_choice": "required"}}
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "type": "object",
        "properties": {"town": {"type": "string", "enum": ["Paris", "Rome"]}},
        "required": ["town"],
        "additionalProperties": False,
    },
}


def plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def refused(call: Callable[[], object]) -> dict[str, Any]:
    """Status and body of an error."""
    try:
        call()
    except APIStatusError as error:
        return {"status": error.status_code, "body": error.body}
    return {"status": 200}


def texts(client: LlamaStackClient) -> dict[str, Any]:
    complete, chat = client.inference.completion, client.inference.chat_completion
    asked: dict[str, Any] = {"model_id": "one", "sampling_params": SHORT}
    prompt: dict[str, Any] = {**asked, "content": "The capital of France is"}
    question: dict[str, Any] = {**asked, "messages": [USER]}
    logprobs = {"logprobs": {"top_k": 1}}
    same: dict[str, Any] = {"max_tokens": 8, "temperature": 0}
    long = {**question, "sampling_params": {"max_tokens": 100}}
    made = {
        "completion": complete(**prompt, **logprobs),
        "completion_stream": list(complete(**prompt, **logprobs, stream=True)),
        "completion_stop": complete(**{**prompt, "sampling_params": {"max_tokens": 30, "stop": ["e", "a", " "]}}),
        "completion_schema": complete(**{**prompt, "sampling_params": {"max_tokens": 40}}, response_format=SCHEMA),
        "chat": chat(**question, **logprobs),
        "chat_stream": list(chat(**question, **logprobs, stream=True)),
        "chat_schema": chat(**long, response_format=SCHEMA),
        "tool": chat(**long, **TOOLS),
        "tool_stream": list(chat(**long, **TOOLS, stream=True)),
        "tool_auto": chat(**question, tools=[WEATHER]),
        "tool_none": list(chat(**question, tools=[WEATHER], tool_config={"tool_choice": "none"}, stream=True)),
        "batch": client.inference.batch_completion(**asked, content_batch=["One", "Two", "Three"]),
        "batch_chat": client.inference.batch_chat_completion(**asked, messages_batch=[[USER], [USER]]),
        "openai": client.chat.completions.create(model="one", messages=[USER], **same),
        "openai_stream": list(client.chat.completions.create(model="one", messages=[USER], **same, stream=True)),
        "openai_completion": client.completions.create(model="one", prompt="One", **same),
        "openai_completion_stream": list(client.completions.create(model="one", prompt="One", **same, stream=True)),
        "sampled": chat(**{**question, "sampling_params": {**SHORT, "strategy": {"type": "top_k", "top_k": 5}}}),
    }
    call = {"call_id": "call-1", "tool_name": "get_weather", "arguments": {"exact": True}}
    asking = {"role": "assistant", "content": "", "stop_reason": "end_of_message", "tool_calls": [call]}
    turns = [USER, asking, {"role": "tool", "call_id": "call-1", "content": "Sunny."}]
    made["tool_turn"] = chat(**{**asked, "messages": turns}, tools=[WEATHER])
    found: dict[str, Any] = {name: plain(value) for name, value in made.items()}
    found["unknown"] = refused(lambda: chat(**{**question, "model_id": "other"}))
    found["unknown_stream"] = refused(lambda: list(chat(**{**question, "model_id": "other"}, stream=True)))
    found["too_long"] = refused(lambda: complete(**{**prompt, "content": "word " * 9000}))
    found["embedding"] = refused(lambda: client.inference.embeddings(model_id="one", contents=["x"]))
    return found


def embeddings(client: LlamaStackClient) -> dict[str, Any]:
    ask = client.inference.embeddings
    long = "word " * 5000
    found: dict[str, Any] = {
        "texts": plain(ask(model_id="one", contents=["cat", "dog"])),
        "items": plain(ask(model_id="one", contents=[{"type": "text", "text": "cat"}])),
        "start": plain(ask(model_id="one", contents=[long], text_truncation="start")),
        "end": plain(ask(model_id="one", contents=[long], text_truncation="end")),
        "too_long": refused(lambda: ask(model_id="one", contents=[long])),
        "no_chat": refused(lambda: client.inference.chat_completion(model_id="one", messages=[USER])),
    }
    if hasattr(client, "embeddings"):
        found["openai"] = plain(client.embeddings.create(model="one", input=["cat"]))
    return found


def service(client: LlamaStackClient) -> dict[str, Any]:
    return {
        "models": plain(client.models.list()),
        "model": plain(client.models.retrieve("one")),
        "register": refused(lambda: client.models.register(model_id="more")),
        "unregister": refused(lambda: client.models.unregister("chat")),
        "health": plain(client.inspect.health()),
        "version": plain(client.inspect.version()),
        "providers": plain(client.providers.list()),
        "provider": plain(client.providers.retrieve("vllm")),
        "routes": plain(client.routes.list()),
    }


def main(url: str, kind: str) -> None:
    client = LlamaStackClient(base_url=url, max_retries=0, timeout=120)
    work = texts if kind == "text" else embeddings
    print(json.dumps({**service(client), **work(client)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
