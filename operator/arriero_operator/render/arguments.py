"""What the runtime container is started with: the runtime's own arguments, then the engine's flags."""

from typing import Final

from arriero_api import pod
from arriero_operator.render import parallel
from arriero_operator.render.inputs import Inputs

LOADED_FLAG: Final = "--max-cpu-loras="
"""Tells how many adapters the pods of a template hold."""


def arguments(inputs: Inputs) -> list[str]:
    """Arguments of the container, after the image's entry point."""
    # In one word each, so that no value is taken for an option.
    revision = [f"--revision={inputs.source_revision}"] if inputs.source_revision else []
    credentials = [f"--credentials={inputs.credentials}"] if inputs.credentials else []
    return [
        "serve",
        f"--model={inputs.uri}",
        *revision,
        *credentials,
        "--registrations",
        f"{pod.REGISTRATIONS_DIR}/{pod.REGISTRATIONS_FILE}",
        "--cache-dir",
        pod.CACHE_DIR,
        "--state-dir",
        pod.STATE_DIR,
        "--request-timeout-seconds",
        str(inputs.request_timeout_seconds),
        "--drain-seconds",
        str(inputs.drain_seconds),
        "--endpoint-delay-seconds",
        str(pod.ENDPOINT_DELAY_SECONDS),
        *_wishes(inputs),
        "--",
        *engine_flags(inputs),
    ]


def _wishes(inputs: Inputs) -> list[str]:
    """What the runtime itself does with the engine; absent where the resource does not say."""
    found = ["--trust-remote-code"] if inputs.trust_remote_code else []
    if inputs.tool_call_parser:
        found.append(f"--tool-call-parser={inputs.tool_call_parser}")
    if inputs.reasoning_parser:
        found.append(f"--reasoning-parser={inputs.reasoning_parser}")
    if inputs.chat_format != pod.CHAT_FORMATS[0]:
        found.append(f"--chat-format={inputs.chat_format}")
    if inputs.max_tokens is not None:
        found.append(f"--max-tokens={inputs.max_tokens}")
    if inputs.api_key:
        found.append(f"--api-key-file={pod.API_KEY_FILE}")
    if inputs.cache_claim or inputs.own_cache_claim:
        found.append("--shared-cache")
    return found


def engine_flags(inputs: Inputs) -> list[str]:
    """vLLM's flags: typed fields, then the profile's args, then the spec's."""
    flags = _parallel(inputs)
    if inputs.quantization is not None:
        flags.append(f"--quantization={inputs.quantization}")
    if inputs.gpu_memory_utilization is not None:
        flags.append(f"--gpu-memory-utilization={inputs.gpu_memory_utilization}")
    if inputs.chat_template:
        flags.append(f"--chat-template={pod.CHAT_TEMPLATE_FILE}")
    if inputs.max_model_len is not None:
        flags.append(f"--max-model-len={inputs.max_model_len}")
    if inputs.dtype is not None:
        flags.append(f"--dtype={inputs.dtype}")
    if inputs.enforce_eager:
        flags.append("--enforce-eager")
    if inputs.max_num_seqs is not None:
        flags.append(f"--max-num-seqs={inputs.max_num_seqs}")
    if inputs.lora:
        room = inputs.lora
        flags += ["--enable-lora", f"--max-lora-rank={room['maxRank']}", f"--max-loras={room['maxActive']}"]
        flags.append(f"{LOADED_FLAG}{room['maxLoaded']}")
    return [*flags, *inputs.args]


def _parallel(inputs: Inputs) -> list[str]:
    tensor = parallel.tensor_parallel_size(inputs)
    sizes = {
        "tensor": tensor if tensor > 1 else inputs.tensor_parallel_size,
        "pipeline": inputs.pipeline_parallel_size,
        "data": inputs.data_parallel_size,
    }
    return [f"--{kind}-parallel-size={size}" for kind, size in sizes.items() if size is not None]
