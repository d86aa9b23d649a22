"""A server that starts without a model, with a scripted engine."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from arriero_api.contract import Phase
from arriero_runtime import cli
from tests.runtime.server.harness import NO_TENSORS, Running, error_of, free_port, running
from tests.runtime.server.scripted import ScriptedEngine


def folder(parent: Path, name: str) -> Path:
    """What looks like a model from outside."""
    made = parent / name
    made.mkdir()
    (made / "config.json").write_text("{}")
    (made / "model.safetensors").write_bytes(NO_TENSORS)
    return made


class Alone:
    """The server and what a client asks of it. `a` and `b` are two models."""

    def __init__(self, server: Running, parent: Path) -> None:
        self.server = server
        self.client = server.client
        self.a, self.b = folder(parent, "a"), folder(parent, "b")

    async def register(self, name: str, model: Path | str | None = None, **more: object) -> httpx.Response:
        body = {"model_id": name, "provider_model_id": str(model or self.a), **more}
        return await self.client.post("/v1/models", json=body)

    async def unregister(self, name: str) -> httpx.Response:
        return await self.client.delete(f"/v1/models/{name}")

    async def names(self) -> list[str]:
        listed = (await self.client.get("/v1/models")).json()["data"]
        return [model["identifier"] for model in listed]

    @property
    def phase(self) -> Phase:
        return self.server.serving.life.phase

    async def chats(self, name: str) -> int:
        return (await self.server.chat(name)).status_code


@asynccontextmanager
async def alone(
    tmp_path: Path, *extra: str, engine: ScriptedEngine | None = None, loads: bool = True
) -> AsyncIterator[Alone]:
    """`loads`: False holds the engine until `server.loader.go` is set."""
    own = ["--allow-registration", "--host", "127.0.0.1", "--port", str(free_port()), "--endpoint-delay-seconds", "0"]
    options = cli.parse(["serve", *own, "--cache-dir", str(tmp_path), *extra])
    async with running(options, ready=False, engine=engine) as server:
        if loads:
            server.loader.go.set()
        await server.listening()
        yield Alone(server, tmp_path)


def message_of(response: httpx.Response) -> str:
    """What the error says."""
    return str(error_of(response)["message"])
