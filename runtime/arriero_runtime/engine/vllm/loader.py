"""From flags and a folder to a running vLLM with its OpenAI application, in this process."""

import argparse
import asyncio
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from arriero_api.contract import Phase
from arriero_runtime.engine.protocol import EngineGone, EngineSilent
from arriero_runtime.engine.vllm import arguments, parsers, patience, processes
from arriero_runtime.engine.vllm.engine import VllmEngine
from arriero_runtime.engine.vllm.explain import explained_exception
from arriero_runtime.engine.vllm.steps import StepCount
from arriero_runtime.engine.vllm.wishes import Wishes
from arriero_runtime.failing import start_error
from arriero_runtime.model import Model

log = logging.getLogger(__name__)


_FAULTS_OF_CONFIGURATIONS: Final = ("ContextTooLong", "ModelUnsupported", "InvalidArguments")
"""What a configuration without its weights can prove. All else is told by the model itself, once it is whole."""
_STOP_SECONDS: Final = 5.0
_ATTACH_SECONDS: Final = 300.0


class VllmLoader:
    """`arriero_runtime.engine.protocol.EngineLoader` for vLLM. `refused` are variables of the environment that may
    not be set, in words."""

    def __init__(self, flags: Sequence[str], refused: Sequence[str] = (), wishes: Wishes | None = None) -> None:
        self._flags = tuple(flags)
        self._wishes = wishes or Wishes()
        self._refused = tuple(refused)
        self._args: argparse.Namespace | None = None

    @property
    def flags(self) -> Sequence[str]:
        return self._flags

    async def check_arguments(self) -> None:
        """Raises StartError (InvalidArguments). Imports vLLM, in a thread."""
        arguments.refuse_owned(self._flags)
        if self._refused:
            raise start_error("InvalidArguments", "; ".join(self._refused), Phase.RESOLVING)
        if self._args is None:
            self._args = await asyncio.to_thread(self._parse)

    def _parse(self) -> argparse.Namespace:
        try:
            return arguments.parse(self._flags, self._wishes)
        except Exception as error:
            raise explained_exception(error, Phase.RESOLVING) from error

    async def check_model(self, folder: Path, model: Model) -> None:
        """Raises StartError (ContextTooLong, ModelUnsupported, InvalidArguments)."""
        args = await self._arguments(folder, model)
        try:
            await asyncio.to_thread(_configure, args)
        except Exception as error:
            found = explained_exception(error, Phase.DOWNLOADING, args.quantization)
            if found.failure.reason in _FAULTS_OF_CONFIGURATIONS:
                raise found from error
            log.debug("the configuration alone is not enough to tell: %r", error)

    async def load(self, folder: Path, names: Sequence[str], model: Model) -> VllmEngine:
        """Raises StartError. Blocking work is done in a thread: the event loop goes on answering."""
        args = await self._arguments(folder, model)
        args.served_model_name = list(names)
        _stay_offline()
        client = None
        try:
            steps = StepCount()
            processes.adopt()
            client = await asyncio.to_thread(_start, args, steps)
            return await _attached(client, args, steps)
        except Exception as error:
            log.exception("the engine did not start")
            await patience.end(client, _STOP_SECONDS)
            raise explained_exception(error, Phase.LOADING, args.quantization) from error

    def give_up(self) -> None:
        """Ends the engine's processes: vLLM then gives up its start."""
        processes.kill()

    async def _arguments(self, folder: Path, model: Model) -> argparse.Namespace:
        await self.check_arguments()
        args = argparse.Namespace(**vars(self._args))
        args.model = str(folder)
        await asyncio.to_thread(parsers.fit, args, self._wishes, folder, model.uri)
        if model.pooling:
            args.runner = "pooling"
        return args


async def _attached(client: Any, args: argparse.Namespace, steps: StepCount) -> VllmEngine:
    """vLLM asks the engine's processes for this and that before it can serve."""
    members = processes.members()
    try:
        attached = VllmEngine.attach(client, args, steps)
        return await patience.answered(attached, lambda: patience.has_died(client, members), _ATTACH_SECONDS)
    except EngineGone as error:
        raise start_error("EngineDied", "The engine ended as soon as it was loaded.", Phase.LOADING) from error
    except EngineSilent as error:
        raise start_error("EngineHung", f"It is loaded, but {error}.", Phase.LOADING) from error


def _configure(args: argparse.Namespace) -> None:
    """vLLM's own look at a model's configuration. Blocking."""
    from vllm.engine.arg_utils import AsyncEngineArgs

    AsyncEngineArgs.from_cli_args(args).create_model_config()


def _stay_offline() -> None:
    """The model is a folder: neither this process nor the engine's ask a hub for anything any more."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from huggingface_hub import constants

    constants.HF_HUB_OFFLINE = True


def _start(args: argparse.Namespace, steps: StepCount) -> Any:
    """The engine's client, with its processes started and the weights loaded. Blocking, for minutes."""
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.entrypoints.launchers.cli_args import propagate_flash_late_interaction
    from vllm.platforms import current_platform
    from vllm.usage.usage_lib import UsageContext
    from vllm.utils.system_utils import decorate_logs
    from vllm.v1.engine.async_llm import AsyncLLM

    decorate_logs("APIServer", skip_if_decorated=True)
    if args.enforce_eager and current_platform.is_cpu():
        # Eager means eager: else the first log probabilities compile a function, for seconds, with a C++ compiler.
        os.environ.setdefault("TORCH_COMPILE_DISABLE", "1")
    arguments.flag_before_variable(args, os.environ)
    engine_args = AsyncEngineArgs.from_cli_args(args)
    propagate_flash_late_interaction(args, engine_args)
    config = engine_args.create_engine_config(usage_context=UsageContext.OPENAI_API_SERVER)
    return AsyncLLM.from_vllm_config(
        vllm_config=config,
        usage_context=UsageContext.OPENAI_API_SERVER,
        enable_log_requests=engine_args.enable_log_requests,
        aggregate_engine_logging=engine_args.aggregate_engine_logging,
        disable_log_stats=engine_args.disable_log_stats,
        stat_loggers=[steps.logger_class()],
    )
