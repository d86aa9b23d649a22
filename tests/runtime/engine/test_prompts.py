"""Short prompts are made in the event loop's thread, all others in one of their own."""

import asyncio
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from arriero_runtime.engine.vllm import prompts
from arriero_runtime.engine.vllm.prompts import AT_ONCE, SHORT, Turn, either, is_short_text, short_chats

SAID = {"role": "user", "content": "Hello"}
PARTS = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
OWN = {"add_generation_prompt": True, "tools": None, "chat_template": None, "return_dict": False}
LONG = "x" * (SHORT + 1)


@pytest.mark.parametrize("chat", [[SAID], [PARTS], [SAID, {"role": "assistant", "content": None}, PARTS]])
def test_a_few_texts_are_a_short_chat(chat: list[dict[str, Any]]) -> None:
    assert short_chats(None)(None, None, chat, **OWN)


LONG_ONES: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "a long text": ([{"role": "user", "content": LONG}], {}),
    "a long part": ([{"role": "user", "content": [{"type": "text", "text": LONG}]}], {}),
    "many texts": ([{"role": "user", "content": "x" * 100}] * 30, {}),
    "many empty texts": ([{"role": "user", "content": ""}] * 100, {}),
    "many parts without a word": ([{"role": "user", "content": [{"type": "text", "text": ""}] * 100}], {}),
    "a long role": ([{"role": LONG, "content": ""}], {}),
    "calls": ([{"role": "assistant", "content": "", "tool_calls": [{}]}], {}),
    "an image": ([{"role": "user", "content": [{"type": "image"}]}], {}),
    "what is no text": ([{"role": "user", "content": [{"type": "text", "text": ["x"]}]}], {}),
    "tools": ([SAID], {"tools": [{}]}),
    "documents": ([SAID], {"documents": [{}]}),
    "a value for the template": ([SAID], {"words": LONG}),
    "a number for the template": ([SAID], {"times": 10**9}),
    "a template of its own": ([SAID], {"chat_template": "{% for x in range(10**9) %}{% endfor %}"}),
}


@pytest.mark.parametrize("name", LONG_ONES)
def test_all_that_may_take_long_is_a_long_chat(name: str) -> None:
    chat, options = LONG_ONES[name]
    assert not short_chats("{{ messages }}")(None, None, chat, **{**OWN, **options})


def test_the_servers_own_template_leaves_a_chat_short() -> None:
    assert short_chats("{{ messages }}")(None, None, [SAID], **{**OWN, "chat_template": "{{ messages }}"})


def test_a_text_is_short_by_its_characters() -> None:
    assert is_short_text({"prompt": "x" * SHORT}, None)
    assert not is_short_text({"prompt": LONG}, None)


async def test_of_many_short_ones_at_once_only_some_are_made_here_and_later_ones_again() -> None:
    here: list[int] = []

    async def apart(number: int) -> int:
        return -number

    def at_once(number: int) -> int:
        here.append(number)
        return number

    made = either(at_once, apart, lambda number: True, Turn())
    answers = await asyncio.gather(*(made(number) for number in range(1, AT_ONCE + 11)))
    assert here == list(range(1, AT_ONCE + 1))
    assert answers == [*here, *(-number for number in range(AT_ONCE + 1, AT_ONCE + 11))]
    assert await made(500) == 500


async def test_what_is_long_goes_to_the_thread_and_errors_go_through() -> None:
    def fails(number: int) -> int:
        raise ValueError(number)

    async def apart(number: int) -> int:
        return -number

    made = either(fails, apart, lambda number: number < 10, Turn())
    assert await made(11) == -11
    with pytest.raises(ValueError, match="5"):
        await made(5)


class Hf(SimpleNamespace):
    """FAKE: vLLM's renderer, as far as it is changed."""


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("vllm.renderers.hf")
    vars(module).update(HfRenderer=Hf, safe_apply_chat_template=lambda *args, **options: "here")
    for name in ("vllm", "vllm.renderers"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


async def away(*args: Any, **options: Any) -> str:
    return "apart"


async def test_both_steps_of_a_chat_are_made_here(vllm: ModuleType) -> None:
    renderer = Hf(_tokenize_prompt=lambda *_: "ids", _tokenize_prompt_async=away, _apply_chat_template_async=away)
    prompts.make_short_ones_here(renderer, None)
    assert await renderer._tokenize_prompt_async({"prompt": "x"}, None) == "ids"
    assert await renderer._tokenize_prompt_async({"prompt": LONG}, None) == "apart"
    assert await renderer._apply_chat_template_async(None, None, [SAID], **OWN) == "here"
    assert await renderer._apply_chat_template_async(None, None, [SAID], **{**OWN, "tools": [{}]}) == "apart"


async def test_a_renderer_of_another_kind_keeps_its_own_way_with_chats(vllm: ModuleType) -> None:
    other = SimpleNamespace(
        _tokenize_prompt=lambda *_: "ids", _tokenize_prompt_async=away, _apply_chat_template_async=away
    )
    prompts.make_short_ones_here(other, None)
    assert await other._apply_chat_template_async(None, None, [SAID], **OWN) == "apart"
    assert await other._tokenize_prompt_async({"prompt": "x"}, None) == "ids"


def test_a_vllm_that_makes_prompts_in_another_way_is_not_taken(vllm: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="in another way"):
        prompts.make_short_ones_here(Hf(), None)
