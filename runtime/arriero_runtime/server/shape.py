"""The shape of a request's body, whatever it asks for: not too much, and all of it fit for another process."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from arriero_runtime.server.answers import Refusal, invalid

_OBJECT: Final = "structured_outputs"
"""A parameter that the application takes for an object without looking."""
SUSPECT: Final = re.compile(rb'\\u[dD][89a-fA-F]|\d{19}|"structured_outputs"')
"""Half a character, a number of more than 64 bits, or that parameter: only a body with one of these can be unusable."""
_FREE: Final = frozenset({"messages", "tools", "metadata", "chat_template_kwargs"})
"""Whose numbers are the client's or the template's business."""
_INT64: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Limits:
    """Most entries of one list or object, and most values of a body. Lists of token ids count for neither."""

    entries: int
    values: int


def too_many(request: Any, ids: frozenset[str], limits: Limits) -> Refusal | None:
    """`ids` are the parameters whose lists of token ids do not count."""
    left = limits.values
    stack: list[tuple[str, Any]] = [("", request)]
    while stack:
        where, value = stack.pop()
        if not isinstance(value, dict | list) or (where.partition(".")[0] in ids and _is_numbers(value)):
            continue
        if len(value) > limits.entries:
            return invalid(where, f"has {len(value)} entries; {limits.entries} are allowed")
        left -= len(value)
        if left < 0:
            return invalid("", f"has more than {limits.values} values")
        stack += _entries(where, value)
    return None


def unusable(request: Any) -> Refusal | None:
    """What cannot reach the engine's process: text that is none, numbers that are too large, and what is no object."""
    if isinstance(request, dict) and not isinstance(request.get(_OBJECT), dict | None):
        return invalid(_OBJECT, "must be an object")
    stack: list[tuple[str, Any]] = [("", request)]
    while stack:
        where, value = stack.pop()
        if isinstance(value, str) and _is_broken(value):
            return invalid(where, "holds half of a surrogate pair, which is no text")
        if isinstance(value, int) and value not in _INT64 and where.partition(".")[0] not in _FREE:
            return invalid(where, "is a number of more than 64 bits")
        if isinstance(value, dict) and any(map(_is_broken, value)):
            return invalid(where, "has a name that holds half of a surrogate pair")
        if isinstance(value, dict | list):
            stack += _entries(where, value)
    return None


def _entries(where: str, value: dict[str, Any] | list[Any]) -> Iterator[tuple[str, Any]]:
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
        yield (f"{where}.{key}" if where else str(key)), entry


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _is_numbers(value: dict[str, Any] | list[Any]) -> bool:
    return isinstance(value, list) and all(type(entry) is int for entry in value)
