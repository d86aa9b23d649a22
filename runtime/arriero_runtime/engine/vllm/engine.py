"""A running vLLM: its application, its counters, its names, its end."""

import argparse
import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from arriero_api.pod import NO_PARSER
from arriero_runtime.engine.protocol import HOSTED_TOOLS, AsgiApp, Counters, FirstAnswer, LoraCapacity
from arriero_runtime.engine.vllm import (
    adapters,
    media,
    patience,
    processes,
    prompts,
    question,
    remains,
    room,
    routing,
    series,
    steps,
    streams,
    tokens,
)

_MESSAGE_ENDS: Final = ("<|eom_id|>", "<|eom|>")
"""Of Llama 3.1 and later, and of Llama 4."""
_ADAPTER_SECONDS: Final = 600.0
"""For one adapter, behind a step of the engine and others that are read from a slow volume."""
_SCOPE_SECONDS: Final = 1.0
"""For vLLM's tasks beside its application."""


@dataclass
class StopWish:
    """Stands in for the HTTP server, which vLLM's error handler tells to stop when the engine is dead. The life cycle
    watches `errored` and ends the server itself, with a reason."""

    should_exit: bool = False


class VllmEngine:
    """`arriero_runtime.engine.protocol.Engine` for vLLM's AsyncLLM."""

    def __init__(
        self,
        client: Any,
        app: Any,
        args: argparse.Namespace,
        tasks: Sequence[str],
        scope: contextlib.AsyncExitStack,
        count: steps.StepCount,
        control_tokens: frozenset[str],
    ) -> None:
        self._client = client
        self._args = args
        self._app = app
        self._tasks = tuple(tasks)
        self._scope = scope
        self._steps = count
        self._members = processes.members()
        self._loras = adapters.Loras(client, app.state.openai_serving_models)
        self.control_tokens = control_tokens

    @classmethod
    async def attach(cls, client: Any, args: argparse.Namespace, count: steps.StepCount) -> Self:
        """vLLM's OpenAI application around a started engine whose steps are counted, with its lifespan entered."""
        from vllm.entrypoints.launchers.api_server.app_state import init_app_state
        from vllm.entrypoints.launchers.app import build_app

        tasks = await client.get_supported_tasks()
        await client.reset_mm_cache()
        app = build_app(args, tasks, client.model_config)
        await init_app_state(client, app.state, args, tasks)
        app.state.server = StopWish()
        routing.put_first(app)
        streams.straighten(app)
        prompts.make_short_ones_here(client.renderer, app.state.online_renderer.chat_template)
        await media.guard(args.allowed_media_domains)
        room.refuse_what_does_not_fit()
        adapters.hide_ids(app.state.openai_serving_models)
        series.bound_adapters(client, adapters.public)
        control_tokens = await asyncio.to_thread(tokens.of_chats, client, app.state.online_renderer.chat_template)
        scope = contextlib.AsyncExitStack()
        await scope.enter_async_context(app.router.lifespan_context(app))
        return cls(client, app, args, tasks, scope, count, control_tokens)

    @property
    def app(self) -> AsgiApp:
        app: AsgiApp = self._app
        return app

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(route.path for route in self._app.routes)

    @property
    def effective(self) -> Mapping[str, str | int | bool]:
        config = self._client.vllm_config
        model = config.model_config
        return {
            "maxModelLen": int(model.max_model_len),
            "dtype": str(model.dtype).removeprefix("torch."),
            "enforceEager": bool(model.enforce_eager),
            "maxNumSeqs": int(config.scheduler_config.max_num_seqs),
            "quantization": str(model.quantization or "none"),
            "tasks": ",".join(sorted(self._tasks)),
            "toolCallParser": str(self._args.tool_call_parser or NO_PARSER),
            "reasoningParser": str(self._args.reasoning_parser or NO_PARSER),
        }

    @property
    def message_ends(self) -> frozenset[int]:
        if "generate" not in self._tasks:
            return frozenset()
        vocabulary = self._client.get_tokenizer().get_vocab()
        return frozenset(vocabulary[token] for token in _MESSAGE_ENDS if token in vocabulary)

    async def tokens(self) -> tokens.PlainTokens | None:
        if "generate" not in self._tasks:
            return None
        return await asyncio.to_thread(tokens.of_tokenizer, self._client.get_tokenizer())

    def document(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._app.openapi()
        return found

    @property
    def honoured(self) -> frozenset[str]:
        config = self._client.vllm_config
        found = {
            "priority": config.scheduler_config.policy == "priority",
            "kv_transfer_params": config.kv_transfer_config is not None,
            "ec_transfer_params": config.ec_transfer_config is not None,
            "vllm_xargs": bool(config.model_config.logits_processors),
            "watermarking": config.watermark_config is not None,
            HOSTED_TOOLS: getattr(self._app.state, "tool_server", None) is not None,
        }
        return frozenset(name for name, works in found.items() if works)

    @property
    def lora(self) -> LoraCapacity | None:
        return adapters.capacity(self._client)

    @property
    def errored(self) -> bool:
        return patience.has_died(self._client, self._members)

    def counters(self) -> Counters:
        held = steps.held(self._client)
        return Counters(self._steps.told(held), series.tokens(), sum(held.values()))

    def metrics(self) -> str:
        return series.text()

    def rename(self, names: Sequence[str]) -> None:
        from vllm.entrypoints.openai.models.protocol import BaseModelPath

        # One list, shared by everything that looks names up: changed in place.
        served = self._app.state.openai_serving_models.base_model_paths
        root = served[0].model_path
        served[:] = [BaseModelPath(name=name, model_path=root) for name in names]

    async def load_adapter(self, name: str, folder: Path) -> int | None:
        work = self._loras.load(name, folder)
        return await patience.answered(work, lambda: self.errored, _ADAPTER_SECONDS)

    def unload_adapter(self, name: str) -> int | None:
        return self._loras.unload(name)

    async def drop_adapter(self, weights: int) -> None:
        await patience.answered(self._loras.drop(weights), lambda: self.errored, _ADAPTER_SECONDS)

    async def first_answer(self) -> FirstAnswer:
        if "generate" in self._tasks:
            return await question.generate(self._client)
        return await question.encode(self._client, self._tasks)

    async def abort_all(self) -> None:
        # First in this process, so that streams end also with an engine that hangs.
        output = self._client.output_processor
        await self._client.abort([*output.request_states, *output.parent_requests], internal=True)

    async def stop(self, seconds: float) -> None:
        self._members = []
        self._loras.close()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._scope.aclose(), _SCOPE_SECONDS)
        # It would take the wanted end of the engine's process for its death, and say so at length.
        if (handler := self._client.output_handler) is not None:
            handler.cancel()
        await patience.end(self._client, seconds)
        remains.forget()
