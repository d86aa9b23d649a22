"""Text of an answer that may turn out to be a tool call is held back; all other text passes as it comes."""

from collections.abc import Collection

from arriero_runtime.native.formats.reading import MARK


class Held:
    """`names` are built-in tools that are offered; `calls` whether any tool is."""

    def __init__(self, names: Collection[str], *, calls: bool) -> None:
        self._starts = ("{", "[", MARK, *(f"{name}.call(" for name in names)) if calls else ()
        self._calls = calls
        self._begun = False
        self._all = False
        self.text = ""

    def hold_all(self) -> None:
        """Nothing of the answer passes before its end."""
        self._all = self._calls

    def add(self, text: str) -> str:
        """Take new text; gives what may pass."""
        self.text += text
        if self._all:
            return ""
        if not self._begun and self._may_begin():
            return ""
        return self._passed()

    def _may_begin(self) -> bool:
        """Whether the answer may be nothing but calls, as far as it has come."""
        start = self.text.lstrip()
        if not start:
            return self._calls
        if start.startswith(self._starts):
            self._all = True
            return True
        if any(one.startswith(start) for one in self._starts):
            return True
        self._begun = True
        return False

    def _passed(self) -> str:
        if not self._calls:
            at = len(self.text)
        elif (at := self.text.find(MARK)) >= 0:
            self._all = True
        else:
            at = len(self.text) - _overlap(self.text)
        passed, self.text = self.text[:at], self.text[at:]
        return passed


def _overlap(text: str) -> int:
    """So many of its last characters may be the beginning of a mark."""
    for length in range(min(len(MARK) - 1, len(text)), 0, -1):
        if MARK.startswith(text[-length:]):
            return length
    return 0
