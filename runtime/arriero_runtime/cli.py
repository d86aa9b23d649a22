"""The command line, the same for supervisor and server. Standard library only."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from arriero_api import pod


class UsageError(ValueError):
    """The command line cannot be used; the text says which argument and why."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """`arriero-runtime serve`, parsed. Times are in seconds; `engine_args` are vLLM's flags as they were written.

    Empty parsers are chosen by the runtime, pod.NO_PARSER is none. `max_tokens` 0 is no cap; no `api_key_file`:
    everybody may ask. `shared_cache`: other pods use the cache folder too. `allow_registration`: clients say which
    model is served, and `model` is empty. `credentials` names the Secret that the model's source is asked with, empty
    for none; `credentials_dir` has a folder for each Secret.
    """

    model: str
    revision: str
    registrations: Path
    cache_dir: Path
    state_dir: Path
    request_timeout_seconds: int
    drain_seconds: int
    endpoint_delay_seconds: int
    host: str
    port: int
    control_port: int
    termination_log: Path
    engine_args: tuple[str, ...]
    trust_remote_code: bool = False
    tool_call_parser: str = ""
    reasoning_parser: str = ""
    chat_format: str = pod.CHAT_FORMATS[0]
    max_tokens: int = 0
    api_key_file: Path | None = None
    shared_cache: bool = False
    allow_registration: bool = False
    credentials: str = ""
    credentials_dir: Path = Path(pod.CREDENTIALS_DIR)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see arriero-runtime serve --help)")


def parse(argv: Sequence[str]) -> ServeOptions:
    """The options in `argv` (without the program's name). Raises UsageError; SystemExit after `--help`."""
    ours, engine_args = _split(argv)
    found = _parser().parse_args(ours)
    _require_one_way(found)
    return ServeOptions(
        model=found.model or "",
        revision=found.revision,
        registrations=found.registrations,
        cache_dir=found.cache_dir,
        state_dir=found.state_dir,
        request_timeout_seconds=found.request_timeout_seconds,
        drain_seconds=found.drain_seconds,
        endpoint_delay_seconds=found.endpoint_delay_seconds,
        host=found.host,
        port=found.port,
        control_port=found.control_port,
        termination_log=found.termination_log,
        engine_args=tuple(engine_args),
        trust_remote_code=found.trust_remote_code,
        tool_call_parser=found.tool_call_parser,
        reasoning_parser=found.reasoning_parser,
        chat_format=found.chat_format,
        max_tokens=found.max_tokens,
        api_key_file=found.api_key_file,
        shared_cache=found.shared_cache,
        allow_registration=found.allow_registration,
        credentials=found.credentials,
        credentials_dir=found.credentials_dir,
    )


def _require_one_way(found: argparse.Namespace) -> None:
    """The model is named here, or by clients."""
    if found.allow_registration and (found.model or found.revision):
        raise UsageError("--allow-registration: clients name the model; remove --model and --revision")
    if not found.allow_registration and not found.model:
        raise UsageError("the following arguments are required: --model (see arriero-runtime serve --help)")


def termination_log(argv: Sequence[str]) -> Path:
    """Where to leave the termination message of a command line that may otherwise be unusable."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--termination-log", type=Path, default=Path(pod.TERMINATION_LOG))
    try:
        found, _ = parser.parse_known_args(_split(argv)[0])
    except UsageError:
        return Path(pod.TERMINATION_LOG)
    return Path(found.termination_log)


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stands before and after the first `--`."""
    args = list(argv)
    if "--" not in args:
        return args, []
    at = args.index("--")
    return args[:at], args[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="arriero-runtime", description="Serve a language model with vLLM.", allow_abbrev=False)
    serve = parser.add_subparsers(dest="command", required=True, parser_class=_Parser).add_parser(
        "serve",
        help="serve one model under its names",
        usage="%(prog)s (--model URI | --allow-registration) [options] [-- VLLM FLAGS]",
        epilog="Everything after -- goes to vLLM.",
        allow_abbrev=False,
    )
    add = serve.add_argument
    add("--model", type=_not_empty, metavar="URI", help="hf://owner/name, s3://bucket/folder, file:///folder, …")
    add(
        "--allow-registration",
        action="store_true",
        help="start without a model; clients register and unregister it: POST and DELETE on /v1/models",
    )
    add("--credentials", default="", metavar="SECRET", help="ask the source with this folder of --credentials-dir")
    add("--credentials-dir", type=Path, default=Path(pod.CREDENTIALS_DIR), help="(default: %(default)s)")
    add("--revision", default="", help="branch, tag or commit of the repository (default: its main branch)")
    add(
        "--registrations",
        type=Path,
        metavar="FILE",
        default=Path(pod.REGISTRATIONS_DIR, pod.REGISTRATIONS_FILE),
        help="the names to serve; followed while running (default: %(default)s)",
    )
    add("--cache-dir", type=Path, default=Path(pod.CACHE_DIR), help="fetched models, caches (default: %(default)s)")
    add("--state-dir", type=Path, default=Path(pod.STATE_DIR), help="remembers failures (default: %(default)s)")
    add("--request-timeout-seconds", type=_positive, default=300, metavar="N", help="(default: %(default)s)")
    add("--drain-seconds", type=_seconds, default=300, metavar="N", help="time that requests get to end at a stop")
    add(
        "--endpoint-delay-seconds",
        type=_seconds,
        default=pod.ENDPOINT_DELAY_SECONDS,
        metavar="N",
        help="requests are still accepted so long after the signal to stop (default: %(default)s)",
    )
    add("--host", default="", help="address to listen on (default: all, IPv4 and IPv6)")
    add("--port", type=_port, default=pod.SERVE_PORT, help="the model's API (default: %(default)s)")
    add("--control-port", type=_port, default=pod.CONTROL_PORT, help="probes, status, metrics (default: %(default)s)")
    add(
        "--termination-log",
        type=Path,
        default=Path(pod.TERMINATION_LOG),
        metavar="FILE",
        help="why it ended, as JSON (default: %(default)s)",
    )
    _add_model_options(add)
    return parser


def _add_model_options(add: Callable[..., object]) -> None:
    add("--trust-remote-code", action="store_true", help="run the code that the model brings along")
    for kind in ("tool-call", "reasoning"):
        words = f"vLLM's {kind} parser; {pod.NO_PARSER}: none (default: chosen by the model)"
        add(f"--{kind}-parser", default="", metavar="NAME", help=words)
    add(
        "--chat-format",
        choices=pod.CHAT_FORMATS,
        default=pod.CHAT_FORMATS[0],
        help="prompts of chats (default: %(default)s)",
    )
    add("--max-tokens", type=_positive, default=0, metavar="N", help="most tokens of one answer (default: no cap)")
    add("--api-key-file", type=Path, metavar="FILE", help="the key that requests need; read anew when it changes")
    add(
        "--shared-cache", action="store_true", help="other pods use the cache folder too: change nothing there in place"
    )


def _not_empty(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def _seconds(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of seconds, 0 or more")
    return int(text)


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 1 or more")
    return int(text)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 1 to 65535")
    return int(text)
