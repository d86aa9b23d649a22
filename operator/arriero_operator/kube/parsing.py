"""JSON of the API server. Most of its short texts are the same in all objects: each is kept once."""

import json
from typing import Any

from pydantic_core import from_json


def parsed(text: bytes) -> Any:
    """The value. Raises ValueError; whatever Python's own parser can read is read."""
    try:
        return from_json(text, cache_strings="all")
    except ValueError:
        return json.loads(text)
