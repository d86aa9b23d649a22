"""The parsers for a model in a folder: those that the resource names, else by the table."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from arriero_api.pod import NO_PARSER
from arriero_runtime.parsers.table import REASONING, TOOLS, Row

_TEMPLATE_FILES: Final = ("chat_template.jinja", "chat_template.json", "tokenizer_config.json")
_MISTRALS_OWN: Final = "tekken.json"
"""Where it is, the engine lays chats out by Mistral's own library, tools too, and no template is needed."""
_MISTRALS_WORDS: Final = "tools [TOOL_CALLS]"
_BUILT_IN: Final = frozenset({"openai", "granite-20b-fc"})
"""Parsers of tool calls whose models are told of tools without the template's help."""


@dataclass(frozen=True, slots=True)
class Parsers:
    """Names of vLLM's parsers; empty: none."""

    tools: str = ""
    reasoning: str = ""


def chosen(wanted: Parsers, folder: Path, uri: str, template: str = "") -> Parsers:
    """`wanted` is what the resource says: a name, NO_PARSER, or nothing, and then the table decides.

    `uri` is where the model came from, as the folder alone may not tell its name; `template` is the chat template that
    is used in place of the model's own. A folder that cannot be read gets none.
    """
    architectures = _architectures(folder)
    name = f"{uri} {folder}"
    text = template or _template(folder)
    tools = _by_table(TOOLS, architectures, name, text)
    if tools not in _BUILT_IN and not re.search(r"\btools\b", text):
        tools = ""
    reasoning = _by_table(REASONING, architectures, name, text)
    return Parsers(_settled(wanted.tools, tools), _settled(wanted.reasoning, reasoning))


def _settled(wanted: str, found: str) -> str:
    return "" if wanted == NO_PARSER else wanted or found


def _by_table(table: Iterable[Row], architectures: Iterable[str], name: str, template: str) -> str:
    for row in table:
        if (
            set(row.architectures).intersection(architectures)
            and re.search(row.name, name, re.IGNORECASE)
            and not (row.unless and re.search(row.unless, name, re.IGNORECASE))
            and re.search(row.template, template, re.IGNORECASE)
        ):
            return row.parser
    return ""


def _architectures(folder: Path) -> tuple[str, ...]:
    found = _object(folder / "config.json").get("architectures")
    return tuple(str(one) for one in found) if isinstance(found, list) else ()


def _template(folder: Path) -> str:
    """The text of all chat templates that the model brings along."""
    texts = [_MISTRALS_WORDS] if (folder / _MISTRALS_OWN).is_file() else []
    for name in _TEMPLATE_FILES:
        file = folder / name
        if name.endswith(".jinja"):
            texts.append(_text(file))
            continue
        found = _object(file).get("chat_template")
        # Some models have several, each with a name of its own.
        several = found if isinstance(found, list) else [{"template": found}]
        texts += [str(one["template"]) for one in several if isinstance(one, dict) and one.get("template")]
    return "\n".join(texts)


def _object(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(_text(file) or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
