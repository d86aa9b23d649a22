"""LoRA adapters of a running vLLM, by name.

Every load is another adapter to the engine, with an id and a name of its own, NAME@ID. So requests under way keep the
weights that they began with when a name gets others: the engine takes two of one name for the same, and dies of a step
that has both. Of those that it holds it drops the least recently used where it needs room, and reads it again when it
is asked for: so those that no name has any more are to be taken away, else wanted ones have to go.
"""

import asyncio
import contextlib
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


def public(name: str) -> str:
    """The name that clients know, of one with an id."""
    return name.partition(_MARK)[0]


def hide_ids(models: Any) -> None:
    """Clients see the names of adapters without ids: in answers and in the list. `models` is OpenAIServingModels."""
    name_of, listed = models.model_name, models.show_available_models

    def model_name(lora_request: Any = None) -> str:
        return public(name_of(lora_request))

    async def show_available_models() -> Any:
        found = await listed()
        for card in found.data:
            card.id = public(card.id)
        return found

    models.model_name, models.show_available_models = model_name, show_available_models


class Loras:
    """Those of one engine: `client` is AsyncLLM, `models` OpenAIServingModels."""

    def __init__(self, client: Any, models: Any) -> None:
        self._client = client
        self._models = models
        self._unwanted: set[asyncio.Task[None]] = set()

    async def load(self, name: str, folder: Path) -> int | None:
        """Answer for `name` with the adapter in `folder`; gives the id of its earlier one. Raises AdapterRefused."""
        from vllm.lora.request import LoRARequest

        number = self._models.lora_id_counter.inc(1)
        request = LoRARequest(lora_name=f"{name}{_MARK}{number}", lora_int_id=number, lora_path=str(folder))
        try:
            await self._client.add_lora(request)
        except asyncio.CancelledError:
            self._take_back(number)
            raise
        except Exception as error:
            raise _refused(error) from error
        before = self._models.lora_requests.get(name)
        self._models.lora_requests[name] = request
        return _number(before)

    def unload(self, name: str) -> int | None:
        """Answer no more for `name`; gives the id of what it had."""
        return _number(self._models.lora_requests.pop(name, None))

    async def drop(self, number: int) -> None:
        """The engine forgets it; harmless where it has done so already."""
        await self._client.remove_lora(number)

    def close(self) -> None:
        """The engine is about to end."""
        for task in self._unwanted:
            task.cancel()

    def _take_back(self, number: int) -> None:
        """Nobody waits for it any more, but the engine may have been asked already, and then takes it."""
        task = asyncio.get_running_loop().create_task(self._drop_quietly(number))
        self._unwanted.add(task)
        task.add_done_callback(self._unwanted.discard)

    async def _drop_quietly(self, number: int) -> None:
        with contextlib.suppress(Exception):
            await self.drop(number)


def _number(request: Any) -> int | None:
    return None if request is None else int(request.lora_int_id)


def _refused(error: Exception) -> AdapterRefused:
    match = _WORKER.search(str(error))
    words = " ".join((match["words"] if match else str(error) or type(error).__name__).split())
    if _RANK in words:
        return AdapterRefused("AdapterRankTooHigh", words)
    return AdapterRefused("AdapterMismatch" if _MISMATCH.search(words) else "AdapterInvalid", words)
