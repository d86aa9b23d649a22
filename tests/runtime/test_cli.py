"""The command line of the runtime."""

from pathlib import Path

import pytest

from arriero_api import pod
from arriero_runtime.cli import UsageError, parse, termination_log


def test_what_the_operator_writes_is_understood() -> None:
    line = (
        "serve --model hf://acme/tiny --revision main --registrations /etc/r.json --cache-dir /c --state-dir /s "
        "--request-timeout-seconds 60 --drain-seconds 0 --endpoint-delay-seconds 10 "
        "-- --max-model-len 512 --no-x -- --help"
    )
    options = parse(line.split())
    assert options.model == "hf://acme/tiny"
    assert (options.cache_dir, options.state_dir, options.registrations) == (
        Path("/c"),
        Path("/s"),
        Path("/etc/r.json"),
    )
    assert (options.request_timeout_seconds, options.drain_seconds, options.endpoint_delay_seconds) == (60, 0, 10)
    assert options.engine_args == ("--max-model-len", "512", "--no-x", "--", "--help")


def test_the_defaults_are_those_of_a_pod() -> None:
    options = parse(["serve", "--model", "file:///m"])
    assert (options.port, options.control_port) == (pod.SERVE_PORT, pod.CONTROL_PORT)
    assert options.termination_log == Path(pod.TERMINATION_LOG)
    assert options.registrations == Path(pod.REGISTRATIONS_DIR, pod.REGISTRATIONS_FILE)
    assert options.engine_args == ()


def test_what_a_model_asks_for_is_an_argument_and_no_secret_is_one() -> None:
    line = (
        "serve --model hf://a/b --trust-remote-code --tool-call-parser=hermes --reasoning-parser=none "
        "--chat-format=LlamaStack --max-tokens=512 --api-key-file=/etc/key --shared-cache"
    )
    options = parse(line.split())
    assert options.trust_remote_code
    assert (options.tool_call_parser, options.reasoning_parser) == ("hermes", pod.NO_PARSER)
    assert (options.chat_format, options.max_tokens) == ("LlamaStack", 512)
    assert (options.api_key_file, options.shared_cache) == (Path("/etc/key"), True)


def test_without_them_nothing_is_chosen_capped_or_locked() -> None:
    options = parse(["serve", "--model", "file:///m"])
    assert (options.trust_remote_code, options.shared_cache, options.api_key_file) == (False, False, None)
    assert (options.tool_call_parser, options.reasoning_parser, options.max_tokens) == ("", "", 0)
    assert options.chat_format == pod.CHAT_FORMATS[0] == "Template"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("", "command"),
        ("serve", "--model"),
        ("serve --model hf://a/b --drain-seconds -1", "--drain-seconds"),
        ("serve --model hf://a/b --request-timeout-seconds 0", "--request-timeout-seconds"),
        ("serve --model hf://a/b --port 70000", "--port"),
        ("serve --model hf://a/b --control-port x", "--control-port"),
        ("serve --mod hf://a/b", "--mod "),
        ("serve --model hf://a/b --max-model-len 5", "--max-model-len"),
        ("serve --model= ", "--model"),
        ("serve --model hf://a/b --max-tokens 0", "--max-tokens"),
        ("serve --model hf://a/b --chat-format Chat", "--chat-format"),
    ],
)
def test_a_refused_argument_is_named(line: str, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        parse(line.split())


def test_the_termination_log_is_found_on_an_unusable_command_line() -> None:
    assert termination_log(["serve", "--nope", "--termination-log", "/t", "--", "--x"]) == Path("/t")
    assert termination_log(["serve", "--termination-log"]) == Path(pod.TERMINATION_LOG)
