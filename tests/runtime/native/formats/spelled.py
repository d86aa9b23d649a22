"""FAKE, for tests only: tokens that are the letters of a text, and control tokens with readable ids."""

from collections.abc import Sequence

from arriero_runtime.native.formats.frames import LLAMA_3, LLAMA_4, Layout


class Letters:
    """`arriero_runtime.engine.protocol.Tokens`: a letter is its code point; a control token is far beyond them."""

    FIRST = 2_000_000

    def __init__(self, layout: Layout = LLAMA_3) -> None:
        spellings = (
            layout.begin,
            layout.end_of_text,
            layout.header,
            layout.header_end,
            layout.end_of_message,
            layout.end_of_turn,
            layout.tag,
            *([layout.tag_end] if layout.tag_end else []),
        )
        self._ids = {spelling: self.FIRST + number for number, spelling in enumerate(spellings)}

    def plain(self, text: str) -> list[int]:
        return [ord(letter) for letter in text]

    def special(self, spelling: str) -> int | None:
        return self._ids.get(spelling)

    def shown(self, ids: Sequence[int]) -> str:
        """The ids as text, control tokens in their spelling."""
        back = {number: spelling for spelling, number in self._ids.items()}
        return "".join(back.get(number) or chr(number) for number in ids)


__all__ = ["LLAMA_3", "LLAMA_4", "Letters"]
