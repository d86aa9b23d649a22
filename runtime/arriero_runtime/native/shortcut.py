"""Most events of a stream differ from the one before in nothing but their new text: these need not be taken apart.

Half of what a translated stream costs is reading and writing JSON; the text itself is the same on both sides.
"""

import re
from typing import Final

_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)+"')
"""A text in JSON that is not empty."""
_EMPTY: Final = b'""'
"""The text of a token that is only a part of a character, or that is not shown."""
_INNER: Final = (re.compile(rb'"content": ?(?=")'), re.compile(rb'"text": ?(?=")'))
"""What stands before the text of a chat's chunk and of a completion's, as the engine writes it."""
_OUTER: Final = (re.compile(rb'"text": '), re.compile(rb'"delta": (?=")'))
"""As it is sent on."""
_Parts = tuple[bytes, bytes]


class Shortcut:
    """Learns from one event, and what was sent for it, how to translate those that are like it."""

    def __init__(self) -> None:
        self._inner: _Parts | None = None
        self._outer: _Parts = (b"", b"")

    def of(self, event: bytes) -> bytes | None:
        """What to send for an event of the engine's, which may be nothing; None where it must be looked at."""
        if self._inner is None:
            return None
        before, after = self._inner
        if not event.startswith(before) or not event.endswith(after):
            return None
        text = event[len(before) : len(event) - len(after)]
        if text == _EMPTY:
            return b""
        # Most texts have no escapes: two looks for a byte cost a fifth of a pattern.
        if (text.find(b'"', 1) != len(text) - 1 or b"\\" in text) and _STRING.fullmatch(text) is None:
            return None
        return self._outer[0] + text + self._outer[1]

    def learn(self, event: bytes, sent: bytes) -> None:
        """`sent` must hold nothing of the event but its text, and everything else of it must mean nothing."""
        inner, outer = _around(event, _INNER), _around(sent, _OUTER)
        if inner is not None and outer is not None and inner[1] == outer[1]:
            self._inner, self._outer = inner[0], outer[0]


def _around(event: bytes, marks: tuple[re.Pattern[bytes], ...]) -> tuple[_Parts, bytes] | None:
    """What stands around the first text behind one of the marks, and that text."""
    for mark in marks:
        if (found := mark.search(event)) and (text := _STRING.match(event, found.end())):
            return (event[: text.start()], event[text.end() :]), text.group()
    return None
