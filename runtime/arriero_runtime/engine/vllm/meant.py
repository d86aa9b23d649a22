"""What was probably meant by a flag, or by the name of a parser, that vLLM does not know."""

import difflib
import re
from collections.abc import Collection
from typing import Final

from arriero_api import owned_flags
from arriero_runtime import wording

_UNKNOWN: Final = "unrecognized arguments:"
_ALIKE: Final = 0.75
_PARSER: Final = re.compile(r"invalid (?P<what>tool call|reasoning) parser: (?P<name>\S+) .*\{(?P<known>[^}]*)\}")
_FIELDS: Final = {"tool call": "spec.engine.toolCallParser", "reasoning": "spec.engine.reasoningParser"}


def flags(message: str, known: Collection[str]) -> str:
    """A question for the flags that the parser's message calls unrecognized and that are like known ones; empty: none.

    With a flag that cannot be set it says what to do instead.
    """
    _, found, rest = message.partition(_UNKNOWN)
    if not found:
        return ""
    choice = [one for one in known if one.startswith("--")]
    asked = [word.partition("=")[0].replace("_", "-") for word in rest.split() if word.startswith("--")]
    near = [match for one in asked for match in difflib.get_close_matches(one, choice, 1, _ALIKE)]
    told = (one + _advice(one.removeprefix("--")) for one in dict.fromkeys(near))
    return wording.fit(f"Did you mean {', '.join(told)}?") if near else ""


def _advice(flag: str) -> str:
    return f" ({owned_flags.OWNED_FLAGS[flag]})" if flag in owned_flags.OWNED_FLAGS else ""


def parser(words: str) -> str:
    """What vLLM says of a parser's name, with the field that has it; other words as they are."""
    found = _PARSER.search(words)
    if found is None:
        return words
    known = [one.strip() for one in found["known"].split(",")]
    near = difflib.get_close_matches(found["name"], known, 1, _ALIKE)
    question = f" Did you mean {near[0]}?" if near else ""
    return (
        f"{_FIELDS[found['what']]}: vLLM has no {found['what']} parser {found['name']!r}.{question} "
        f"It has: {', '.join(known)}."
    )
