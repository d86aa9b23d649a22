"""LoRA adapters of a running vLLM, by name.

Every load is another adapter to the engine, with an id and a name of its own, NAME@ID. So requests under way keep the
weights that they began with when a name gets others: the engine takes two of one name for the same, and dies of a step
that has both. What nobody asks for any more it drops by itself, the least recently used first.
"""

import re
from pathlib import Path
from typing import Any, Final

from arriero_runtime.engine.protocol import AdapterRefused, LoraCapacity

_MARK: Final = "@"
"""Stands in no served name."""
_WORKER: Final = re.compile(r"Worker failed with error '(?P<words>.*)', please check the stack trace", re.DOTALL)
_MISMATCH: Final = re.compile(r"size of tensor|size mismatch|must match|must be consistent")
_RANK: Final = "greater than max_lora_rank"


def capacity(client: Any) -> LoraCapacity | None:
    """What the engine was started for."""
    config = client.vllm_config.lora_config
    if config is None:
        return None
    return LoraCapacity(int(config.max_lora_rank), int(config.max_cpu_loras or config.max_loras))


def hide_ids(models: Any) -> None:
    """Clients see the names of adapters without ids: in answers and in the list. `models` is OpenAIServingModels."""
    name_of, listed = models.model_name, models.show_available_models

    def model_name(lora_request: Any = None) -> str:
        return _public(name_of(lora_request))

    async def show_available_models() -> Any:
        found = await listed()
        for card in found.data:
            card.id = _public(card.id)
        return found

    models.model_name, models.show_available_models = model_name, show_available_models


async def load(client: Any, models: Any, name: str, folder: Path) -> None:
    """Answer for `name` with the adapter in `folder`. Raises AdapterRefused."""
    from vllm.lora.request import LoRARequest

    number = models.lora_id_counter.inc(1)
    request = LoRARequest(lora_name=f"{name}{_MARK}{number}", lora_int_id=number, lora_path=str(folder))
    try:
        await client.add_lora(request)
    except Exception as error:
        raise _refused(error) from error
    models.lora_requests[name] = request


def unload(models: Any, name: str) -> None:
    """Answer no more for `name`."""
    models.lora_requests.pop(name, None)


def _public(name: str) -> str:
    return name.partition(_MARK)[0]


def _refused(error: Exception) -> AdapterRefused:
    match = _WORKER.search(str(error))
    words = " ".join((match["words"] if match else str(error) or type(error).__name__).split())
    if _RANK in words:
        return AdapterRefused("AdapterRankTooHigh", words)
    return AdapterRefused("AdapterMismatch" if _MISMATCH.search(words) else "AdapterInvalid", words)
