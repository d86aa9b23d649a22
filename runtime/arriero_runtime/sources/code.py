"""The modules that a model brings along, for a source that lists nothing: those that its configuration names, and what
these import of each other."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Final

_CONFIGURATIONS: Final = (
    "config.json",
    "tokenizer_config.json",
    "processor_config.json",
    "preprocessor_config.json",
    "video_preprocessor_config.json",
)
_NAMED: Final = "auto_map"
"""Kind of class → "module.Class", two of these, or "owner/repository--module.Class" of elsewhere."""
_OF_ELSEWHERE: Final = "--"
_IMPORT: Final = re.compile(r"^\s*from\s+\.(\w+)\s+import\b", re.MULTILINE)
Read = Callable[[str], str | None]


def modules(read: Read) -> list[str]:
    """Their paths. `read` gives the text of a file; None where there is none."""
    found: dict[str, None] = {}
    left = [name for path in _CONFIGURATIONS for name in _named(read(path) or "")]
    while left:
        path = f"{left.pop()}.py"
        if path not in found and (text := read(path)) is not None:
            found[path] = None
            left += _IMPORT.findall(text)
    return sorted(found)


def _named(configuration: str) -> Iterator[str]:
    try:
        classes = json.loads(configuration)[_NAMED].values()
    except (ValueError, KeyError, TypeError, AttributeError):
        return
    for one in classes:
        for name in one if isinstance(one, list) else [one]:
            module = str(name).rpartition(".")[0]
            if module.isidentifier() and _OF_ELSEWHERE not in module:
                yield module
