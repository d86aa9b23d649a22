"""Many words, looked for at once: a text is read once, however many they are."""

import re
from collections.abc import Iterable


def pattern(words: Iterable[str]) -> str:
    """A regular expression for the longest of `words` that begins at a place; one that nothing matches for none.

    As a tree of their beginnings: an alternative of hundreds of words that begin alike would try each of them at every
    place where one could begin, which takes minutes for a text that is made so.
    """
    return _branches(sorted({word for word in words if word})) or "(?!)"


def _branches(words: list[str]) -> str:
    """For sorted words without doubles; empty where there is nothing but the empty word."""
    found = []
    left = [word for word in words if word]
    while left:
        alike = [word for word in left if word[0] == left[0][0]]
        left = left[len(alike) :]
        # Sorted: what the first and the last of them have in common, all have.
        length = _in_common(alike[0], alike[-1])
        found.append(re.escape(alike[0][:length]) + _branches([word[length:] for word in alike]))
    if "" in words and found:
        return f"(?:{'|'.join(found)})?"
    return f"(?:{'|'.join(found)})" if len(found) > 1 else "".join(found)


def _in_common(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (this, that) in enumerate(pairs) if this != that), min(len(one), len(other)))
