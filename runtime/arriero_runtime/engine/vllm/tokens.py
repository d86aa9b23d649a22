"""The model's tokenizer as prompts need it that are laid out in token ids, and what its control tokens are."""

import re
from collections.abc import Iterable
from typing import Any, Final

_MARK: Final = re.compile(r"<[|\uff5c].+[|\uff5c]>", re.DOTALL)
"""What nobody would give the vocabulary as a word. Templates may put such marks together from parts."""


class PlainTokens:
    """`arriero_runtime.engine.protocol.Tokens` for a tokenizer of Hugging Face's fast kind.

    A copy: how it takes control tokens in a text is a switch of the tokenizer, and the engine needs the other way.
    """

    def __init__(self, backend: Any) -> None:
        self._own = type(backend).from_str(backend.to_str())
        self._own.encode_special_tokens = True
        self._own.no_truncation()
        self._own.no_padding()

    def plain(self, text: str) -> list[int]:
        ids: list[int] = self._own.encode(text, add_special_tokens=False).ids
        return ids

    def special(self, spelling: str) -> int | None:
        found: int | None = self._own.token_to_id(spelling)
        return found


def of_tokenizer(tokenizer: Any) -> PlainTokens | None:
    """None for a tokenizer of another kind. Takes a second for a large vocabulary."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return None if backend is None else PlainTokens(backend)


def control(tokenizer: Any, templates: Iterable[str]) -> frozenset[str]:
    """How the tokens are written that structure a chat: those that the tokenizer calls special, named or not, and those
    that were added to its vocabulary and stand in a chat template.

    Other added ones are words, such as runs of spaces or the tags of HTML.
    """
    named: Iterable[str] = getattr(tokenizer, "all_special_tokens", ())
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    told = "\n".join(templates)
    return frozenset(named) | {
        str(token)
        for token in added
        if str(token).strip() and (token.special or _MARK.fullmatch(str(token)) or str(token) in told)
    }


def of_chats(client: Any, given: str | None) -> frozenset[str]:
    """The control tokens of vLLM's `client`. `given` is the chat template of the arguments; without it the model has
    its own, maybe two: with tools and without. Reads files."""
    from vllm.renderers.hf import resolve_chat_template

    tokenizer, model = client.get_tokenizer(), client.model_config
    templates = [given or ""]
    if hasattr(tokenizer, "added_tokens_decoder"):
        choices: tuple[list[dict[str, Any]] | None, ...] = (None, [{}])
        for tools in choices:
            templates.append(resolve_chat_template(tokenizer, None, tools, model_config=model) or "")
    return control(tokenizer, templates)
