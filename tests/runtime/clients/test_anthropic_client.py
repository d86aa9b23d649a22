"""Anthropic's own client: each refusal raises the exception that its users expect."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from arriero_runtime.engine.protocol import Receive, Scope, Send
from arriero_runtime.server import answers
from arriero_runtime.server.routes import COUNT_TOKENS, MESSAGES
from tests.cluster.images import environment
from tests.runtime.server.harness import options_for, running
from tests.runtime.server.scripted import ScriptedEngine, body_of

PROGRAM = Path(__file__).with_name("anthropic_calls.py")
pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]


async def called(url: str) -> dict[str, Any]:
    """What the client's calls gave; it is of the version that the runtime's packages are locked with."""
    packages = await asyncio.to_thread(environment.runtime)
    process = await asyncio.create_subprocess_exec(
        *(environment.PYTHON, PROGRAM, url),
        env=environment.python_with(packages),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await asyncio.wait_for(process.communicate(), 300)
    assert process.returncode == 0, errors.decode()[-3000:]
    found: dict[str, Any] = json.loads(out)
    return found


class Overloaded(ScriptedEngine):
    """FAKE: refuses what comes through to it, as the engine's application does."""

    @property
    def paths(self) -> frozenset[str]:
        return super().paths | {MESSAGES, COUNT_TOKENS}

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] not in (MESSAGES, COUNT_TOKENS):
            await super()._serve(scope, receive, send)
            return
        await body_of(receive)
        body = {"type": "error", "error": {"type": "ServiceUnavailableError", "message": "no room"}}
        await answers.reply(send, 503, json.dumps(body))


async def test_refusals_raise_its_exceptions(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("right\n")
    options = options_for(tmp_path, ["--api-key-file", str(keys)])
    async with running(options, engine=Overloaded()) as server:
        found = await called(str(server.client.base_url).rstrip("/"))
    told = {name: (one["raised"], one["status"], one["type"]) for name, one in found.items()}
    invalid = ("BadRequestError", 400, "invalid_request_error")
    assert told == {
        "key": ("AuthenticationError", 401, "authentication_error"),
        "field": invalid,
        "tool": invalid,
        "container": invalid,
        "count": invalid,
        "batches": ("NotFoundError", 404, "not_found_error"),
        "engine": (told["engine"][0], 503, "overloaded_error"),
    }
    assert told["engine"][0] in ("ServiceUnavailableError", "InternalServerError")
    assert "'temprature' is not known" in found["field"]["message"]
    assert "web_search_20250305" in found["tool"]["message"]
    assert "'container'" in found["container"]["message"]
