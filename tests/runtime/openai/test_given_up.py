"""What the real engine gives up in the middle of an answer, while it goes on with others."""

from typing import Any, Final

import httpx
import openai
import pytest

from tests.runtime.openai.asking import CHAT, COMPLETIONS, SAID, complete, error_of, events, texts
from tests.support.live import Live

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

WORDS: Final = "It is a city on the Seine."
PROMPTS: Final[dict[str, dict[str, Any]]] = {CHAT: {"messages": SAID}, COMPLETIONS: {"prompt": "Paris? "}}


@pytest.fixture
def stuck(client: httpx.Client) -> dict[str, Any]:
    """A form that can be begun with the tokens that are allowed, and not ended: at some point none is left."""
    body = {"model": "one", "prompt": WORDS, "add_special_tokens": False}
    tokens = client.post("/tokenize", json=body).json()["tokens"]
    return {"structured_outputs": {"choice": [f"{WORDS} #"]}, "allowed_token_ids": tokens, "max_tokens": 60}


@pytest.mark.parametrize("path", PROMPTS)
def test_a_stream_that_the_engine_gives_up_tells_it_in_its_last_event(
    server: Live, client: httpx.Client, stuck: dict[str, Any], path: str
) -> None:
    processes = server.engine_processes()
    *written, last = events(client, path, **PROMPTS[path], **stuck)
    assert texts(written) == WORDS
    assert all("error" not in event for event in written)
    assert set(last) == {"error"}
    assert (last["error"]["code"], last["error"]["type"]) == (400, "invalid_request_error")
    assert last["error"]["param"] == "structured_outputs"
    assert complete(client).status_code == 200
    assert server.engine_processes() == processes
    assert server.gauge("vllm:num_requests_running") == 0


@pytest.mark.parametrize("path", PROMPTS)
def test_an_answer_that_the_engine_gives_up_is_an_error(client: httpx.Client, stuck: dict[str, Any], path: str) -> None:
    answer = client.post(path, json={"model": "one", **PROMPTS[path], **stuck})
    assert error_of(answer)["param"] == "structured_outputs"


def test_openais_client_raises_it_behind_what_came_before(server: Live, stuck: dict[str, Any]) -> None:
    said: list[str] = []
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        stream = client.chat.completions.create(
            model="one",
            messages=[{"role": "user", "content": "Paris?"}],
            stream=True,
            extra_body=stuck,
        )
        with pytest.raises(openai.APIError, match="structured_outputs"):
            said.extend(chunk.choices[0].delta.content or "" for chunk in stream)
    assert "".join(said) == WORDS
