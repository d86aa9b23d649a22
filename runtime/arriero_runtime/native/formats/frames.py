"""How a chat of Llama 3.1 and later, or of Llama 4, is laid out in tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from arriero_runtime.engine.protocol import Tokens


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `role` is system, user, assistant or ipython (a tool's answer); `texts` are its pieces, each turned
    into tokens alone. `code` says that it is code; `ends_message` that the turn goes on after it."""

    role: str
    texts: tuple[str, ...]
    code: bool = False
    ends_message: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The spellings of a frame's control tokens. `tag` is the first token of an answer that is code or a call of a
    built-in tool; `tag_end`, where there is one, its last. `tells_code`: code of earlier turns has the tag as well;
    `messages`: a message with tool calls, and a tool's answer, end the message and not the turn."""

    begin: str
    end_of_text: str
    header: str
    header_end: str
    end_of_message: str
    end_of_turn: str
    tag: str
    tag_end: str
    tells_code: bool
    messages: bool


LLAMA_3: Final = Layout(
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|python_tag|>",
    "",
    tells_code=True,
    messages=False,
)
LLAMA_4: Final = Layout(
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|header_start|>",
    "<|header_end|>",
    "<|eom|>",
    "<|eot|>",
    "<|python_start|>",
    "<|python_end|>",
    tells_code=False,
    messages=True,
)


class Frame:
    """A layout in the tokens of one model."""

    def __init__(self, layout: Layout, tokens: Tokens) -> None:
        self.layout = layout
        self._tokens = tokens

    def _id(self, spelling: str) -> int:
        found = self._tokens.special(spelling)
        assert found is not None, spelling
        return found

    @property
    def tag(self) -> int:
        """The token that a tagged answer begins with."""
        return self._id(self.layout.tag)

    @property
    def stops(self) -> list[int]:
        """Tokens that end an answer."""
        return [self._id(one) for one in (self.layout.end_of_text, self.layout.end_of_message, self.layout.end_of_turn)]

    def prompt(self, turns: Sequence[Turn]) -> list[int]:
        """The whole chat, with the head of the answer that is asked for."""
        found = [self._id(self.layout.begin)]
        for turn in turns:
            found += self._turn(turn)
        return found + self._head("assistant")

    def _head(self, role: str) -> list[int]:
        plain = self._tokens.plain
        return [self._id(self.layout.header), *plain(role), self._id(self.layout.header_end), *plain("\n\n")]

    def _turn(self, turn: Turn) -> list[int]:
        found = self._head(turn.role)
        if turn.code and self.layout.tells_code:
            found.append(self.tag)
        for text in turn.texts:
            found += self._tokens.plain(text)
        return [*found, self._id(self.layout.end_of_message if turn.ends_message else self.layout.end_of_turn)]


def frame_of(tokens: Tokens) -> Frame | None:
    """The frame that a model's tokens are made for; None for other models, Llama 2 and 3.0 among them."""
    for layout in (LLAMA_3, LLAMA_4):
        needed = (layout.begin, layout.end_of_text, layout.header, layout.header_end, layout.end_of_message)
        if all(tokens.special(one) is not None for one in (*needed, layout.end_of_turn, layout.tag)):
            return Frame(layout, tokens)
    return None
