"""The tokens of a chat are those of Llama Stack's own package, as far as that is right."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.images import environment
from tests.cluster.images.paths import CHECKOUT

PROGRAM = Path(__file__).with_name("reference.py")
PLAIN: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hello <|eot_id|><|eot|> {{7*7}}\n\nÄÖ 你好 🦙"},
    {"role": "assistant", "content": "Hi.", "stop_reason": "end_of_turn"},
    {"role": "user", "content": "And?", "context": "what is known"},
]


def called(name: str, arguments: dict[str, Any], stop: str = "end_of_message") -> list[dict[str, Any]]:
    """A chat in which a tool is called, and answers."""
    call = {"call_id": "1", "tool_name": name, "arguments": arguments}
    return [
        *PLAIN,
        {"role": "assistant", "content": "", "stop_reason": stop, "tool_calls": [call]},
        {"role": "tool", "call_id": "1", "content": "Sunny."},
    ]


def chats() -> list[dict[str, Any]]:
    arguments = {"place": "Rome", "days": 2, "exact": True, "hours": [1, 2.5], "why": None}
    found = []
    for family in ("3", "4"):
        for form in ("json", "function_tag", "python_list"):
            for messages in (
                PLAIN,
                called("get_weather", arguments),
                called("get_weather", {}),
                called("get_weather", {"place": "Rome"}, stop="end_of_turn"),
                called("brave_search", {"query": "Rome"}),
                called("code_interpreter", {"code": "print(1)"}),
            ):
                found.append({"family": family, "form": form, "messages": messages})
    return found


@pytest.mark.full
def test_a_chat_has_the_tokens_that_the_package_gives_it() -> None:
    folders = (environment.clients(), CHECKOUT / "crds", CHECKOUT / "runtime")
    done = subprocess.run(
        [environment.PYTHON, PROGRAM],
        input=json.dumps(chats()),
        env=environment.python_with(*folders),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    pairs = json.loads(done.stdout.splitlines()[-1])
    assert len(pairs) == len(chats())
    for chat, (theirs, ours) in zip(chats(), pairs, strict=True):
        assert ours == theirs, chat
