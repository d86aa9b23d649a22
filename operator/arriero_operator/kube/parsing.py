"""JSON of the API server. Most of its short texts are the same in all objects: each is kept once."""

import json
from typing import Any, Final

from pydantic_core import from_json, to_json

_MANAGERS: Final = b',"managedFields":[{'
_END: Final = b"}]"


def parsed(text: bytes) -> Any:
    """The value. Raises ValueError; whatever Python's own parser can read is read."""
    try:
        return from_json(text, cache_strings="all")
    except ValueError:
        return json.loads(text)


def without_managers(text: bytes) -> Any:
    """The same, of one object or of an event about one, without metadata.managedFields: half of the text, and not read.

    It is a list of objects with no list in them, so that it ends with the first `}]`. Where that stands within a text
    of it, the rest is no JSON, as the quotes after it are escaped: then all is parsed.
    """
    before, found, rest = text.partition(_MANAGERS)
    _, ended, after = rest.partition(_END)
    if found and ended:
        try:
            return from_json(before + after, cache_strings="all")
        except ValueError:
            pass
    return parsed(text)


def written(value: Any) -> bytes:
    """The JSON text. Half a sign, which a runtime's words may hold, is written as Python's own JSON writes it."""
    try:
        return to_json(value)
    except ValueError:
        return json.dumps(value).encode()
