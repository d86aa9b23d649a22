"""What a registration may say, and what its names mean."""

from pathlib import Path
from typing import Any

import pytest

from arriero_api import llama_names
from arriero_runtime import cli
from arriero_runtime.engine.protocol import FirstAnswer
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.native import registering
from arriero_runtime.native.facts import Facts
from arriero_runtime.server.refusals import RegistrationRefused
from tests.runtime.alone.harness import alone, message_of
from tests.runtime.native.played import EMBEDDER
from tests.runtime.server.scripted import ScriptedEngine

LLAMA = "meta-llama/Llama-3.2-3B-Instruct"


@pytest.mark.parametrize(("name", "repository"), list(llama_names.REPOSITORIES.items()))
def test_every_llama_stack_name_means_its_repository(name: str, repository: str) -> None:
    assert registering.uri_of(name) == registering.uri_of(name.lower()) == f"hf://{repository}"


def test_there_are_44_names() -> None:
    assert len(llama_names.REPOSITORIES) == 44


@pytest.mark.parametrize(
    ("shown", "uri"),
    [
        (LLAMA, f"hf://{LLAMA}"),
        ("llama-3.2-3b-instruct", f"hf://{LLAMA}"),
        ("Qwen/Qwen2.5-0.5B-Instruct", "hf://Qwen/Qwen2.5-0.5B-Instruct"),
        ("/models/mine", "file:///models/mine"),
        ("hf://org/name", "hf://org/name"),
    ],
)
def test_everything_else_is_passed_on(shown: str, uri: str) -> None:
    assert registering.uri_of(shown) == uri


@pytest.mark.parametrize("shown", ["misspelt", "a/b/c", "ftp://x/y", "/models/../etc", ""])
def test_what_can_be_no_model_is_refused_by_field(shown: str) -> None:
    with pytest.raises(RegistrationRefused) as refused:
        registering.uri_of(shown)
    assert refused.value.refusal.extra == {"param": "provider_model_id"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "body"),
        (b"[]", "body"),
        (b"{}", "model_id"),
        (b'{"model_id": 1}', "model_id"),
        (b'{"model_id": " "}', "model_id"),
        (b'{"model_id": "a\\u0000b"}', "model_id"),
        (b'{"model_id": "/m", "provider_id": "ollama"}', "provider_id"),
        (b'{"model_id": "/m", "model_type": "image"}', "model_type"),
        (b'{"model_id": "/m", "metadata": []}', "metadata"),
        (b'{"model_id": "/m", "metadata": {"revision": 1}}', "metadata.revision"),
        (b'{"model_id": "/m", "gpu": 1}', "gpu"),
    ],
)
async def test_a_bad_body_is_400_and_names_the_field(tmp_path: Path, body: bytes, field: str) -> None:
    async with alone(tmp_path) as one:
        answer = await one.client.post("/v1/models", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 400
        assert f"Invalid value: {field}: " in message_of(answer)


async def test_an_embedding_model_is_started_as_one_and_its_dimension_is_told(tmp_path: Path) -> None:
    async with alone(tmp_path, engine=Embedder()) as one:
        answer = await one.register("e", model_type="embedding", metadata={"embedding_dimension": 3})
        assert one.server.loader.pooling
        model: dict[str, Any] = answer.json()
        assert (model["model_type"], model["metadata"]["embedding_dimension"]) == ("embedding", 3)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"model_type": "llm"}, "model_type is 'llm', and the model is of the kind 'embedding'"),
        ({"metadata": {"embedding_dimension": 384}}, "vectors have 3 numbers"),
    ],
)
async def test_a_model_that_is_not_what_the_registration_says_is_not_kept(
    tmp_path: Path, asked: dict[str, Any], words: str
) -> None:
    async with alone(tmp_path, engine=Embedder()) as one:
        refused = await one.register("e", **asked)
        assert (refused.status_code, words in message_of(refused)) == (400, True)
        assert await one.names() == []
        assert one.server.engine.stopped


async def test_a_wrong_alias_harms_nobody(tmp_path: Path) -> None:
    async with alone(tmp_path, engine=Embedder()) as one:
        await one.register("e")
        assert (await one.register("text", model_type="llm")).status_code == 400
        assert await one.names() == ["e"]


class Embedder(ScriptedEngine):
    """Makes vectors of three numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = FirstAnswer((0.1, 0.2, 0.3))

    @property
    def paths(self) -> frozenset[str]:
        return EMBEDDER


def named(*names: str) -> Facts:
    life = LifeCycle(lambda status: None)
    life.names(names, "hash")
    return Facts(life, LLAMA, frozenset, frozenset, registered=True)


def test_another_way_to_write_a_registered_name_means_it() -> None:
    assert named("chat", "Llama3.2-3B-Instruct").served_name(LLAMA) == "Llama3.2-3B-Instruct"


@pytest.mark.parametrize("name", [LLAMA, "Llama3.2-3B-Instruct", "anything"])
def test_a_name_that_nobody_registered_means_nothing(name: str) -> None:
    assert named("chat").served_name(name) == name


@pytest.mark.parametrize("more", [["--model", "file:///m"], ["--revision", "main"]])
def test_the_model_is_named_in_one_place(more: list[str]) -> None:
    with pytest.raises(cli.UsageError, match="--allow-registration"):
        cli.parse(["serve", "--allow-registration", *more])


def test_without_registration_a_model_must_be_named() -> None:
    with pytest.raises(cli.UsageError, match="--model"):
        cli.parse(["serve"])
