"""vLLM's flags: refused where Arriero owns them, then parsed and checked by vLLM's own parser."""

import argparse
from collections import Counter
from collections.abc import Collection, MutableMapping, Sequence
from dataclasses import replace
from typing import Final, NoReturn

from arriero_api import owned_flags
from arriero_api.contract import Phase
from arriero_runtime import wording
from arriero_runtime.engine.vllm import meant
from arriero_runtime.engine.vllm.explain import explained
from arriero_runtime.engine.vllm.wishes import Wishes
from arriero_runtime.failing import StartError, start_error

_PLACEHOLDER: Final = "model"
_KV_CACHE_GIB: Final = "VLLM_CPU_KVCACHE_SPACE"


def refuse_owned(flags: Sequence[str]) -> None:
    """Raises StartError (InvalidArguments) that names each flag and what to do instead."""
    counts = Counter(owned_flags.flag_names(flags))
    advice = dict(owned_flags.OWNED_FLAGS)
    if "enable-lora" not in counts:
        advice |= dict.fromkeys(owned_flags.LORA_ONLY, "adapters are off, so it would have no effect; remove it")
    if wording.is_alone():
        advice |= dict.fromkeys(owned_flags.WRITTEN, "it is there twice; remove one of them")
    refused = [
        f"--{name} cannot be set: {advice[name]}"
        for name, count in counts.items()
        if name in advice and (name not in owned_flags.WRITTEN or count > 1)
    ]
    if refused:
        raise start_error("InvalidArguments", "; ".join(refused), Phase.RESOLVING)


def parse(flags: Sequence[str], wishes: Wishes) -> argparse.Namespace:
    """The flags as vLLM reads them, and what else is wished; `model` and `served_model_name` are filled in later.

    Imports vLLM.

    Raises StartError (InvalidArguments) that names the flag.
    """
    from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
    from vllm.entrypoints.launchers.launcher import validate_api_server_args
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    class Parser(FlexibleArgumentParser):  # type: ignore[misc]  # the base is unknown where types are checked
        def error(self, message: str) -> NoReturn:
            raise unusable(message, self._option_string_actions)

    try:
        # No abbreviations: they would reach owned flags by another name.
        args: argparse.Namespace = make_arg_parser(Parser(allow_abbrev=False)).parse_args([*wishes.flags, *flags])
        _refuse_words(args)
        validate_parsed_serve_args(args)
        for plugin, manager in (
            (args.tool_parser_plugin, ToolParserManager.import_tool_parser),
            (args.reasoning_parser_plugin, ReasoningParserManager.import_reasoning_parser),
        ):
            if plugin:
                manager(plugin)
        validate_api_server_args(args)
        _refuse_parser(args.reasoning_parser, ReasoningParserManager.list_registered())
    except SystemExit as error:
        raise start_error("InvalidArguments", "--help and --version start no model.", Phase.RESOLVING) from error
    except (TypeError, ValueError, KeyError, OSError) as error:
        words = str(error.args[0]) if error.args else str(error)
        raise start_error("InvalidArguments", meant.parser(words.removeprefix("Error: ")), Phase.RESOLVING) from error
    wishes.cap(args)
    args.model = _PLACEHOLDER
    args.disable_fastapi_docs = True
    return args


def flag_before_variable(args: argparse.Namespace, environment: MutableMapping[str, str]) -> None:
    """A model's own --kv-cache-memory-bytes goes before its profile's variable, which vLLM's CPU build would obey."""
    if args.kv_cache_memory_bytes is not None:
        environment.pop(_KV_CACHE_GIB, None)


def unusable(message: str, known: Collection[str] = ()) -> StartError:
    """For an error of the parser's, which may have several lines where a value has a form of its own. `known` are the
    flags that there are."""
    found = explained([f"error: {' '.join(message.split())}"], Phase.RESOLVING).failure
    question = meant.flags(message, known)
    return StartError(replace(found, message=f"{found.message} {question}") if question else found)


def _refuse_parser(name: str | None, known: Sequence[str]) -> None:
    """vLLM looks one of reasoning up where the engine has begun to load. Raises KeyError in its words."""
    if name and name not in known:
        raise KeyError(f"invalid reasoning parser: {name} (chose from {{ {','.join(known)} }})")


def _refuse_words(args: argparse.Namespace) -> None:
    """vLLM takes one word that is no flag for the model's name."""
    if word := getattr(args, "model_tag", None):
        raise start_error("InvalidArguments", f"{word!r} is neither a flag nor a flag's value.", Phase.RESOLVING)
