"""The texts of a request, and the control tokens that they make: each for itself, or written one behind the other.

Chat templates join the texts of a message's parts, with nothing between and often without the white space around them,
and may do so with those of neighbouring messages.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from arriero_runtime.server import spellings

_JOINER: Final = "\u2060"
"""Invisible, and between two characters of a control token enough to leave it a text."""
_TEXTS: Final = frozenset({"text", "content", "output", "thinking", "refusal", "input"})
"""Members whose texts go into the prompt. Others (addresses, kinds, ids) are looked at each for itself."""


@dataclass(slots=True)
class Piece:
    """One text in a request's JSON: `holder[key]`. `said`: it may be changed. `joins`: templates may join it to others;
    `siblings` is the list that it is a part of."""

    holder: Any
    key: Any
    said: bool = True
    joins: bool = True
    siblings: int = 0

    @property
    def text(self) -> str:
        found: str = self.holder[self.key]
        return found


def pieces(holder: Any, key: Any, *, said: bool, siblings: int = 0) -> Iterator[Piece]:
    """All texts below `holder[key]`, in the order of the document."""
    value = holder[key]
    if isinstance(value, str):
        yield Piece(holder, key, said, isinstance(key, int) or key in _TEXTS, siblings)
    elif isinstance(value, list):
        for number in range(len(value)):
            yield from pieces(value, number, said=said, siblings=id(value))
    elif isinstance(value, dict):
        for name in value:
            # What a part's part says is not written where the part stands.
            yield from pieces(value, name, said=said, siblings=siblings if name == "text" else 0)


class ControlTokens:
    """The model's; those of one character are left out, as nothing could keep them apart."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self._pattern = re.compile(spellings.pattern(token for token in tokens if len(token) > 1))

    def within(self, text: str) -> bool:
        return self._pattern.search(text) is not None

    def take_out(self, found: Sequence[Piece]) -> bool:
        """Put a joiner into every token that was said, wherever it was cut. Tells whether there was one."""
        changed = any([self._broken([one]) for one in found if one.said and not one.joins])
        joining = [one for one in found if one.joins]
        views = [joining, [one for one in joining if one.said], *_parts(joining)]
        seen: list[list[int]] = []
        for view in views:
            # Often there is but one way to join them.
            ids = [id(one) for one in view]
            if ids not in seen:
                seen.append(ids)
                changed = any([self._broken(view), len(view) > 1 and self._broken(view, trimmed=True)]) or changed
        return changed

    def _broken(self, view: Sequence[Piece], *, trimmed: bool = False) -> bool:
        texts = [one.text for one in view]
        leads = [len(text) - len(text.lstrip()) if trimmed else 0 for text in texts]
        shown = [text.strip() for text in texts] if trimmed else texts
        starts = [0]
        for text in shown:
            starts.append(starts[-1] + len(text))
        del starts[-1]
        joints: dict[int, set[int]] = {}
        for begin, end in self._spans("".join(shown)):
            if (joint := _joint(view, starts, begin, end)) is not None:
                number, at = joint
                joints.setdefault(number, set()).add(at + leads[number])
        for number, places in joints.items():
            cuts = [0, *sorted(places), len(texts[number])]
            parts = [texts[number][a:b] for a, b in pairwise(cuts)]
            view[number].holder[view[number].key] = _JOINER.join(parts)
        return bool(joints)

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Those that overlap too: breaking one up leaves the other whole."""
        found = self._pattern.search(text)
        while found is not None:
            yield found.span()
            found = self._pattern.search(text, found.start() + 1)


def _parts(joining: Sequence[Piece]) -> list[list[Piece]]:
    """The parts of each message alone, without what stands between them and is written elsewhere."""
    lists: dict[int, list[Piece]] = {}
    for one in joining:
        if one.siblings:
            lists.setdefault(one.siblings, []).append(one)
    return [parts for parts in lists.values() if len(parts) > 1]


def _joint(view: Sequence[Piece], starts: Sequence[int], begin: int, end: int) -> tuple[int, int] | None:
    """Piece and place of a joiner that breaks up the token from `begin` to `end`; None where nobody said any of it."""
    first = bisect_right(starts, begin) - 1
    if view[first].said:
        return first, begin - starts[first] + 1
    for number in range(first + 1, bisect_right(starts, end - 1)):
        if view[number].said:
            return number, 0
    return None
