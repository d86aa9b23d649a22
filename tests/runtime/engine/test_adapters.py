"""Adapters in vLLM by name.

FAKE: the list of models and the client of vLLM, which need an engine; the real ones are asked in tests/e2e.
"""

import asyncio
import sys
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from arriero_runtime.engine.protocol import AdapterRefused, LoraCapacity
from arriero_runtime.engine.vllm import adapters
from tests.support.eventually import eventually_async

FOLDER = Path("/cache/adapters/a")


@dataclass
class LoRARequest:
    """FAKE: as vLLM's, which takes two of one name for the same."""

    lora_name: str
    lora_int_id: int
    lora_path: str


class FakeCounter:
    def __init__(self) -> None:
        self._numbers = count(1)

    def inc(self, step: int) -> int:
        return next(self._numbers)


@dataclass
class FakeModels:
    """FAKE: OpenAIServingModels as far as it knows of adapters."""

    lora_requests: dict[str, LoRARequest] = field(default_factory=dict)
    lora_id_counter: FakeCounter = field(default_factory=FakeCounter)

    def model_name(self, lora_request: LoRARequest | None = None) -> str:
        return lora_request.lora_name if lora_request else "base"

    async def show_available_models(self) -> SimpleNamespace:
        names = ["base", *(request.lora_name for request in self.lora_requests.values())]
        return SimpleNamespace(data=[SimpleNamespace(id=name) for name in names])


@dataclass
class FakeClient:
    """FAKE: AsyncLLM; raises `error` instead of adding."""

    error: Exception | None = None
    added: list[LoRARequest] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    silent: bool = False

    async def add_lora(self, request: LoRARequest) -> None:
        if self.error:
            raise self.error
        self.added.append(request)
        if self.silent:
            await asyncio.Event().wait()

    async def remove_lora(self, number: int) -> None:
        self.removed.append(number)


@pytest.fixture(autouse=True)
def vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("vllm.lora.request")
    module.LoRARequest = LoRARequest  # type: ignore[attr-defined]
    for name in ("vllm", "vllm.lora"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "vllm.lora.request", module)


async def test_every_load_of_a_name_is_another_adapter_to_the_engine() -> None:
    """Else the old weights' requests and the new ones' in one step would end the engine."""
    client, models = FakeClient(), FakeModels()
    loras = adapters.Loras(client, models)
    assert await loras.load("support", FOLDER) is None
    before = await loras.load("support", FOLDER)
    assert len({request.lora_name for request in client.added}) == 2
    assert len({request.lora_int_id for request in client.added}) == 2
    assert models.lora_requests == {"support": client.added[1]}
    assert before == client.added[0].lora_int_id
    assert loras.unload("support") == client.added[1].lora_int_id
    await loras.drop(before)
    assert client.removed == [before]


async def test_an_adapter_that_nobody_waits_for_any_more_is_taken_back() -> None:
    client, models = FakeClient(silent=True), FakeModels()
    loading = asyncio.ensure_future(adapters.Loras(client, models).load("support", FOLDER))
    await eventually_async(lambda: client.added)
    loading.cancel()
    await eventually_async(lambda: client.removed)
    assert client.removed == [client.added[0].lora_int_id]
    assert not models.lora_requests


async def test_clients_see_names_without_ids() -> None:
    models = FakeModels()
    adapters.hide_ids(models)
    loras = adapters.Loras(FakeClient(), models)
    await loras.load("support", FOLDER)
    assert models.model_name(models.lora_requests["support"]) == "support"
    assert models.model_name() == "base"
    assert [card.id for card in (await models.show_available_models()).data] == ["base", "support"]
    loras.unload("support")
    loras.unload("support")
    assert [card.id for card in (await models.show_available_models()).data] == ["base"]


@pytest.mark.parametrize(
    ("worker", "reason"),
    [
        ("LoRA rank 64 is greater than max_lora_rank 16.", "AdapterRankTooHigh"),
        ("The size of tensor a (64) must match the size of tensor b (128) at dimension 1", "AdapterMismatch"),
        ("vLLM does not yet support DoRA.", "AdapterInvalid"),
    ],
)
async def test_what_the_engine_refuses_keeps_the_earlier_weights(worker: str, reason: str) -> None:
    models = FakeModels()
    await adapters.Loras(FakeClient(), models).load("support", FOLDER)
    before = dict(models.lora_requests)
    words = f"Call to add_lora method failed: Worker failed with error '{worker}', please check the stack trace above"
    with pytest.raises(AdapterRefused) as caught:
        await adapters.Loras(FakeClient(RuntimeError(words)), models).load("support", FOLDER)
    assert (caught.value.reason, str(caught.value)) == (reason, worker)
    assert models.lora_requests == before


@pytest.mark.parametrize(
    ("config", "capacity"),
    [
        (None, None),
        (SimpleNamespace(max_lora_rank=16, max_loras=2, max_cpu_loras=4), LoraCapacity(16, 4)),
        (SimpleNamespace(max_lora_rank=16, max_loras=2, max_cpu_loras=None), LoraCapacity(16, 2)),
    ],
)
def test_the_capacity_is_what_the_engine_was_started_for(
    config: SimpleNamespace | None, capacity: LoraCapacity | None
) -> None:
    client = SimpleNamespace(vllm_config=SimpleNamespace(lora_config=config))
    assert adapters.capacity(client) == capacity
