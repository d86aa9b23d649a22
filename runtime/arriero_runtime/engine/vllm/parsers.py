"""The parsers of one model, put into vLLM's arguments."""

import argparse
import copy
import logging
from pathlib import Path

from arriero_runtime.engine.vllm.wishes import Wishes
from arriero_runtime.parsers.choice import Parsers, chosen

log = logging.getLogger(__name__)


def fit(args: argparse.Namespace, wishes: Wishes, folder: Path, uri: str) -> None:
    """Those that are wished for, else those that fit the model that came from `uri` into this folder."""
    wanted = Parsers(wishes.tool_call_parser, wishes.reasoning_parser)
    found = chosen(wanted, folder, uri, _template(args.chat_template))
    args.tool_call_parser = found.tools or None
    args.enable_auto_tool_choice = bool(found.tools)
    args.reasoning_parser = found.reasoning
    # vLLM notes the reasoning parser here as well: the next model must not inherit it.
    args.structured_outputs_config = copy.deepcopy(args.structured_outputs_config)
    log.info("parser of tool calls: %s, of reasoning: %s", found.tools or "none", found.reasoning or "none")


def _template(given: str | None) -> str:
    """The chat template of the flags, which is a file or the text itself."""
    if not given:
        return ""
    try:
        return Path(given).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return given
