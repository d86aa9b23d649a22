"""A server under test on a free port of the loopback, with the supervisor's end of its channel."""

import asyncio
import json
import random
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import httpx

from arriero_api.contract import Failure, NameKind, Phase, Registration, Registrations, RuntimeStatus
from arriero_runtime import cli, wording
from arriero_runtime.channel import Channel, pair
from arriero_runtime.messages import Message, Status
from arriero_runtime.server.cause import Cause
from arriero_runtime.server.serving import Serving
from tests.models.lora import write_tensors
from tests.runtime.server.scripted import ScriptedEngine, ScriptedLoader
from tests.support.eventually import eventually_async

M = TypeVar("M", bound=Message)
NO_TENSORS = (2).to_bytes(8, "little") + b"{}"
"""The shortest whole safetensors file."""
LAYERED = {"num_hidden_layers": 1, "hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": 2}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def model_folder(parent: Path) -> Path:
    """What looks like a model from outside."""
    folder = parent / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(NO_TENSORS)
    return folder


def layered_model(parent: Path) -> Path:
    """As `model_folder`, with a configuration and tensors of one layer, so that an adapter can be made for it."""
    folder = model_folder(parent)
    (folder / "config.json").write_text(json.dumps(LAYERED))
    matrices = {f"model.layers.0.self_attn.{name}_proj.weight": (16, 16) for name in "qkvo"}
    matrices["model.embed_tokens.weight"] = (32, 16)
    write_tensors(folder / "model.safetensors", matrices, random.Random(0))
    return folder


def write_names(path: Path, *names: str, commit: str = "") -> Registrations:
    """The first name is the model's, the others are aliases. The file is swapped, as a ConfigMap volume does."""
    kinds = [NameKind.MODEL] + [NameKind.ALIAS] * (len(names) - 1)
    entries = tuple(Registration(name, kind) for name, kind in zip(names, kinds, strict=True))
    registrations = Registrations(entries, commit)
    fresh = path.with_suffix(".new")
    fresh.write_text(registrations.to_json())
    fresh.replace(path)
    return registrations


class LogTells(Cause):
    """FAKE: in place of a supervisor that has read the engine's log."""

    def __init__(self) -> None:
        super().__init__(supervised=False)
        self.failure: Failure | None = None

    async def told(self) -> Failure | None:
        return self.failure


class Running:
    """A server, its fake engine, and everything that it has told its supervisor."""

    def __init__(self, options: cli.ServeOptions, engine: ScriptedEngine | None = None) -> None:
        self.options = options
        self.engine = engine or ScriptedEngine()
        self.loader = ScriptedLoader(self.engine)
        self.supervisor, theirs = pair()
        self._channel = Channel(theirs)
        self.serving = Serving(options, self.loader, self._channel)
        self.log = self.serving.cause = LogTells()
        self.client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{options.port}", timeout=20)
        self.told: list[Message] = []
        self.alive = True
        self.exit: asyncio.Task[int] | None = None

    def heard(self, kind: type[M]) -> list[M]:
        """All messages of a kind so far."""
        messages, self.alive = self.supervisor.poll() if self.alive else ([], False)
        self.told += messages
        return [message for message in self.told if isinstance(message, kind)]

    @property
    def statuses(self) -> list[RuntimeStatus]:
        return [message.status for message in self.heard(Status)]

    async def reach(self, phase: Phase) -> RuntimeStatus:
        """Wait for the supervisor to hear of a phase."""

        def found() -> list[RuntimeStatus]:
            return [status for status in self.statuses if status.phase is phase]

        return (await eventually_async(found))[-1]

    async def listening(self) -> None:
        """Wait until the port answers."""

        async def answers() -> bool:
            try:
                return (await self.client.get("/v1/version")).status_code == 200
            except httpx.TransportError:
                return False

        found: bool = await eventually_async(answers)
        assert found

    async def close(self) -> None:
        """After the end of the server."""
        await self.client.aclose()
        self.supervisor.close()
        self._channel.close()

    async def exit_code(self) -> int:
        """Wait for the server to end by itself."""
        assert self.exit is not None
        return await asyncio.wait_for(asyncio.shield(self.exit), 20)

    async def chat(self, model: str = "one", **extra: str) -> httpx.Response:
        return await self.client.post("/v1/chat/completions", json={"model": model, **extra})

    @asynccontextmanager
    async def open_stream(self) -> AsyncIterator[AsyncIterator[str]]:
        """A stream that has had its first event; gives the lines that follow."""
        body = {"model": "one", "user": "stream"}
        async with self.client.stream("POST", "/v1/chat/completions", json=body) as response:
            lines = response.aiter_lines()
            assert await anext(lines) == "data: one"
            yield lines


def options_for(
    tmp_path: Path, extra: Sequence[str] = (), folder: Callable[[Path], Path] = model_folder
) -> cli.ServeOptions:
    """A model in a folder, the name "one", no endpoint delay."""
    file = tmp_path / "registrations.json"
    write_names(file, "one")
    own = ["--host", "127.0.0.1", "--port", str(free_port()), "--endpoint-delay-seconds", "0"]
    places = ["--registrations", str(file), "--cache-dir", str(tmp_path)]
    return cli.parse(["serve", "--model", f"file://{folder(tmp_path)}", *own, *places, *extra])


@asynccontextmanager
async def running(
    options: cli.ServeOptions, *, ready: bool = True, engine: ScriptedEngine | None = None
) -> AsyncIterator[Running]:
    """A server that is ended and waited for at the end, if the test has not done so."""
    server = Running(options, engine)
    if not ready:
        server.loader.go.clear()
    task = asyncio.get_running_loop().create_task(server.serving.run())
    server.exit = task
    try:
        if ready:
            await server.reach(Phase.READY)
        yield server
    finally:
        server.engine.release.set()
        server.serving.stop()
        await asyncio.wait_for(task, 20)
        await server.close()
        wording.choose(alone=False)


def error_of(response: httpx.Response) -> dict[str, object]:
    """The error of the OpenAI form."""
    error = json.loads(response.text)["error"]
    assert isinstance(error, dict)
    return error
