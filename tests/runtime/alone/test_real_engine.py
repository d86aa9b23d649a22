"""One process and the real engine: models come and go, what is broken never serves, and the memory comes back."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arriero_api.contract import Phase, Shutdown
from arriero_runtime.engine.vllm import processes, remains
from tests.models import smollm2, tiny
from tests.models.edited import Tensors, edited, without
from tests.runtime.alone.real import AloneRuntime, alone_runtime, engine_pids, proportional
from tests.support.runtime_process import until

pytestmark = pytest.mark.full

Q = "model.layers.1.self_attn.q_proj.weight"
NORM = "model.norm.weight"
MIB = 1024 * 1024
_TIMES = 5
_GROWTH_MIB = 20
"""For each; one tokenizer that is kept takes more."""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AloneRuntime]:
    with alone_runtime(tmp_path_factory.mktemp("alone")) as found:
        yield found


def refused(runtime: AloneRuntime, model: Path, status: int = 400) -> dict[str, Any]:
    """The error; afterwards nothing is left."""
    answer = runtime.register("broken", model)
    assert answer.status_code == status, answer.text
    assert runtime.names() == []
    assert engine_pids(runtime) == []
    told = runtime.status()
    assert told is not None
    assert (told.phase, told.names) == (Phase.EMPTY, ())
    error: dict[str, Any] = answer.json()["error"]
    return error


def asked_everywhere(runtime: AloneRuntime, name: str) -> set[int]:
    """The answers of every route that takes the name of a model."""
    messages = [{"role": "user", "content": "x"}]
    native = {"model_id": name, "sampling_params": {"max_tokens": 1}}
    bodies: dict[str, dict[str, Any]] = {
        "/v1/chat/completions": {"model": name, "messages": messages, "max_tokens": 1},
        "/v1/completions": {"model": name, "prompt": "x", "max_tokens": 1},
        "/v1/responses": {"model": name, "input": "x", "max_output_tokens": 1},
        "/v1/openai/v1/chat/completions": {"model": name, "messages": messages, "max_tokens": 1},
        "/tokenize": {"model": name, "prompt": "x"},
        "/detokenize": {"model": name, "tokens": [1]},
        "/v1/inference/completion": {**native, "content": "x"},
        "/v1/inference/chat-completion": {**native, "messages": messages},
        "/v1/inference/batch-completion": {**native, "content_batch": ["x"]},
        "/v1/inference/batch-chat-completion": {**native, "messages_batch": [messages]},
    }
    return {runtime.client.post(path, json=body).status_code for path, body in bodies.items()}


def test_models_come_and_go_in_one_process_and_give_their_memory_back(runtime: AloneRuntime) -> None:
    assert runtime.register("first", smollm2()).status_code == 200
    assert runtime.register("alias", smollm2()).status_code == 200
    assert runtime.chat("first").status_code == 200
    loaded, shared = runtime.resident(), processes.shared_by(runtime.below())
    assert shared
    assert runtime.unregister("first").status_code == 200
    assert asked_everywhere(runtime, "alias") == {200}
    assert asked_everywhere(runtime, "first") <= {400, 404}
    assert runtime.unregister("alias").status_code == 200
    assert engine_pids(runtime) == []
    assert not [file for file in shared if file.exists()]
    empty = runtime.resident()
    print(f"\nloaded {loaded // MIB} MiB, unregistered {empty // MIB} MiB")
    assert runtime.register("second", tiny()).status_code == 200
    assert runtime.chat("second").status_code == 200
    assert runtime.chat("first").status_code == 404
    assert runtime.unregister("second").status_code == 200
    again = runtime.resident()
    print(f"after one more {again // MIB} MiB")
    assert empty < loaded / 2
    assert again < empty + 150 * MIB


def test_models_that_come_and_go_leave_nothing_in_the_server_that_adds_up(runtime: AloneRuntime) -> None:
    held = []
    for number in range(_TIMES + 1):
        assert runtime.register(f"model-{number}", tiny()).status_code == 200
        assert runtime.chat(f"model-{number}").status_code == 200
        assert runtime.unregister(f"model-{number}").status_code == 200
        held.append(proportional(runtime.server()) // MIB)
    print(f"\nthe server, after each: {held} MiB")
    assert held[-1] - held[0] < _TIMES * _GROWTH_MIB
    assert remains.KEEPS not in runtime.text()


def test_a_layer_without_its_queries_never_serves(runtime: AloneRuntime, tmp_path: Path) -> None:
    error = refused(runtime, edited(tiny(), tmp_path / "m", without(Q)))
    assert (error["type"], "model.layers.1.self_attn.q_proj" in error["message"]) == ("WeightsInvalid", True)


def test_weights_that_are_no_numbers_never_serve(runtime: AloneRuntime, tmp_path: Path) -> None:
    def spoil(tensors: Tensors) -> None:
        tensors[Q] = tensors[Q].filled(b"\xc0\x7f")

    error = refused(runtime, edited(tiny(), tmp_path / "m", spoil))
    assert (error["type"], "not finite" in error["message"]) == ("NoUsableAnswer", True)


def test_weights_that_know_nothing_never_serve(runtime: AloneRuntime, tmp_path: Path) -> None:
    def empty(tensors: Tensors) -> None:
        tensors[NORM] = tensors[NORM].filled(b"\x00\x00")

    error = refused(runtime, edited(tiny(), tmp_path / "m", empty))
    assert (error["type"], "blind guess" in error["message"]) == ("NoUsableAnswer", True)


def test_a_quantization_that_the_weights_do_not_have_never_serves(runtime: AloneRuntime, tmp_path: Path) -> None:
    model = edited(tiny(), tmp_path / "m", lambda tensors: None, quantization_config={"quant_method": "fp8"})
    error = refused(runtime, model)
    assert (error["type"], "have no scales" in error["message"]) == ("WeightsInvalid", True)


def test_heads_that_the_engine_has_no_attention_for_never_serve(runtime: AloneRuntime, tmp_path: Path) -> None:
    model = edited(
        tiny(), tmp_path / "m", lambda tensors: None, num_attention_heads=4, num_key_value_heads=4, head_dim=16
    )
    error = refused(runtime, model)
    assert (error["type"], "has no attention for this model" in error["message"]) == ("ModelUnsupported", True)
    assert "Unsupported CPU attention configuration: head_dim=16" in runtime.text()


def test_a_text_model_can_be_registered_for_embeddings(runtime: AloneRuntime) -> None:
    config = json.loads((tiny() / "config.json").read_text())
    dimension = config["hidden_size"]
    answer = runtime.register("e", tiny(), model_type="embedding", metadata={"embedding_dimension": dimension})
    assert answer.status_code == 200, answer.text
    vector = runtime.client.post("/v1/embeddings", json={"model": "e", "input": "hello"}).json()
    assert len(vector["data"][0]["embedding"]) == dimension
    assert runtime.chat("e").status_code == 404
    assert runtime.unregister("e").status_code == 200


def test_an_engine_that_dies_is_cleared_away_and_another_can_come(runtime: AloneRuntime) -> None:
    assert runtime.register("mine", tiny()).status_code == 200
    for pid in engine_pids(runtime, "VLLM::EngineCore"):
        os.kill(pid, signal.SIGKILL)
    until(lambda: (told := runtime.status()) and told.phase is Phase.EMPTY, "the dead engine is cleared away", 60)
    assert (runtime.names(), engine_pids(runtime)) == ([], [])
    told = runtime.status()
    assert told is not None
    assert told.failure is not None
    assert told.failure.reason == "EngineDied"
    assert runtime.register("mine", tiny()).status_code == 200
    assert runtime.chat("mine").status_code == 200


def test_it_stops_cleanly_with_a_model(runtime: AloneRuntime) -> None:
    runtime.stop()
    assert runtime.ended(60) == 0
    assert Shutdown.from_json(runtime.message()) == Shutdown(0, 0)
