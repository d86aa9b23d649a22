"""Most events of a stream differ from the one before in nothing but their new text: these need not be taken apart.

Half of what a translated stream costs is reading and writing JSON; the text itself is the same on both sides.
"""

import re
from typing import Final

_TEXT: Final = re.compile(rb'(?:[^"\\]|\\.)+')
"""What stands between the quotes of a text in JSON that is not empty."""
_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")
_INNER: Final = (re.compile(rb'"content": ?"'), re.compile(rb'"text": ?"'))
"""What ends where the text of a chat's chunk begins, and of a completion's, as the engine writes it."""
_OUTER: Final = (re.compile(rb'"text": ?"'), re.compile(rb'"delta": ?"'))
"""As it is sent on."""
_Parts = tuple[bytes, bytes]


class Shortcut:
    """Learns from one event, and what was sent for it, how to translate those that are like it. Events are whole, with
    the blank line that ends them."""

    def __init__(self) -> None:
        self._learnt = False
        self._before = self._after = self._sent_before = self._sent_after = b""
        self._begin = self._end = 0

    def of(self, event: bytes) -> bytes | None:
        """What to send for an event of the engine's, which may be nothing; None where it must be looked at."""
        # For every token of every stream: no more calls than it needs.
        if not self._learnt or not event.startswith(self._before) or not event.endswith(self._after):
            return None
        text = event[self._begin : self._end]
        if not text:
            # The text of a token that is only a part of a character, or that is not shown.
            return b"" if event == self._before + self._after else None
        # Most texts have no escapes: two looks for a byte cost a fifth of a pattern.
        if (_QUOTE in text or _BACKSLASH in text) and _TEXT.fullmatch(text) is None:
            return None
        return self._sent_before + text + self._sent_after

    def forget(self) -> None:
        """Look at the next event, whatever it is like."""
        self._learnt = False

    def learn(self, event: bytes, sent: bytes) -> None:
        """`sent` must hold nothing of the event but its text, and everything else of it must mean nothing."""
        inner, outer = _around(event, _INNER), _around(sent, _OUTER)
        if inner is not None and outer is not None and inner[1] == outer[1]:
            self._before, self._after = inner[0]
            self._begin, self._end = len(self._before), -len(self._after)
            self._sent_before, self._sent_after = outer[0]
            self._learnt = True


def _around(event: bytes, marks: tuple[re.Pattern[bytes], ...]) -> tuple[_Parts, bytes] | None:
    """What stands around the first text behind one of the marks, and that text."""
    for mark in marks:
        if (found := mark.search(event)) and (text := _TEXT.match(event, found.end())):
            return (event[: text.start()], event[text.end() :]), text.group()
    return None
