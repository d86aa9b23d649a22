"""What tools say of themselves: chat templates write it into the prompt, and it may be the words of others' servers.

Words that describe may get an invisible character. Names, values and patterns may not: the parser of calls and the
grammar of their arguments take them letter by letter, and so does the tool that is called.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from arriero_runtime.server.pieces import Piece, pieces

_DESCRIBING: Final = frozenset({"description", "title", "$comment", "default", "example", "examples"})
_NAMING: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
"""Members of a schema whose own members have names that the tool's author chose."""


class TokenInPlace(ValueError):
    """The text says where and why, to follow the name of the parameter."""


def described(holder: Any, key: Any, within: Callable[[str], bool]) -> Iterator[Piece]:
    """The describing texts below `holder[key]`. `within` finds control tokens. Raises TokenInPlace where one stands in
    anything else."""
    value = holder[key]
    if isinstance(value, str):
        _check(value, within)
    elif isinstance(value, list):
        for number in range(len(value)):
            yield from described(value, number, within)
    elif isinstance(value, dict):
        for name in value:
            _check(name, within)
            if name in _DESCRIBING and key not in _NAMING:
                yield from pieces(value, name, said=True)
            else:
                yield from described(value, name, within)


def _check(text: str, within: Callable[[str], bool]) -> None:
    if within(text):
        shown = text if len(text) <= 100 else f"{text[:100]}…"
        raise TokenInPlace(f"hold a control token of the model in a name or value that must stay as it is: {shown!r}")
