"""The model's tokenizer as prompts need it that are laid out in token ids."""

from typing import Any


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
