"""Short prompts are made in the event loop's own thread.

vLLM hands each prompt to another thread twice, for the chat template and for the tokenizer. That keeps the loop free
where they take long. A short prompt takes less than it costs to hand it over and back, as both threads wait for each
other's turn to run Python.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

SHORT: Final = 2000
"""Characters of what is said; template and tokenizer then take a millisecond or two."""
PIECE: Final = 20
"""What a message, or a part of one, costs in a template, in characters, whatever it says. Many templates look at all
other messages for each one: with thousands they would take a third of a second."""
AT_ONCE: Final = 128
"""Steps in one turn of the event loop, two for each chat: of a request with thousands of short texts, the others go to
the thread as before."""
_TEXTS: Final = frozenset({"role", "content"})
_PART: Final = frozenset({"type", "text"})


def make_short_ones_here(renderer: Any, template: str | None) -> None:
    """For all requests from now on. `renderer` is AsyncLLM's; `template` is the server's own for chats, None where it
    is the tokenizer's. Raises RuntimeError where vLLM makes prompts in another way."""
    from vllm.renderers.hf import HfRenderer, safe_apply_chat_template

    turn = Turn()
    try:
        tokenize, apart = renderer._tokenize_prompt, renderer._tokenize_prompt_async
        renderer._tokenize_prompt_async = either(tokenize, apart, is_short_text, turn)
        if isinstance(renderer, HfRenderer):
            apart = renderer._apply_chat_template_async
            short = short_chats(template)
            renderer._apply_chat_template_async = either(safe_apply_chat_template, apart, short, turn)
    except AttributeError as error:
        raise RuntimeError(f"vLLM makes prompts in another way: {error}") from error


class Turn:
    """How much may still be made in this turn of the event loop."""

    def __init__(self) -> None:
        self._left = AT_ONCE

    def has_room(self) -> bool:
        """Takes room for one step."""
        if self._left == AT_ONCE:
            asyncio.get_running_loop().call_soon(self._renew)
        self._left -= 1
        return self._left >= 0

    def _renew(self) -> None:
        self._left = AT_ONCE


def either(
    here: Callable[..., Any], apart: Callable[..., Awaitable[Any]], is_short: Callable[..., bool], turn: Turn
) -> Callable[..., Awaitable[Any]]:
    """`here` for what is short while there is room, else `apart`."""

    async def made(*args: Any, **options: Any) -> Any:
        if is_short(*args, **options) and turn.has_room():
            return here(*args, **options)
        return await apart(*args, **options)

    return made


def is_short_text(prompt: Any, *_: object, **options: object) -> bool:
    """As `_tokenize_prompt` is called."""
    return len(prompt.get("prompt") or "") <= SHORT


def short_chats(template: str | None) -> Callable[..., bool]:
    """As `safe_apply_chat_template` is called. A chat is a long one if it has more than texts, brings values for the
    template that are more than switches, or a template of its own."""

    def is_short(config: object, tokenizer: object, conversation: Sequence[Any], **options: Any) -> bool:
        plain = all(
            value is None or isinstance(value, bool) or (name == "chat_template" and value == template)
            for name, value in options.items()
        )
        return plain and _length(conversation) <= SHORT

    return is_short


def _length(conversation: Sequence[Any]) -> int:
    """In characters; more than SHORT where there is more than texts."""
    length = 0
    for message in conversation:
        if not message.keys() <= _TEXTS:
            return SHORT + 1
        length += PIECE + len(message.get("role") or "")
        content = message.get("content")
        for part in [{"text": content}] if isinstance(content, str) else content or ():
            if not part.keys() <= _PART or not isinstance(part.get("text"), str):
                return SHORT + 1
            length += PIECE + len(part["text"])
        if length > SHORT:
            break
    return length
