"""What the runtime container is started with: the runtime's own arguments, then the engine's flags."""

from typing import Final

from arriero_api import pod
from arriero_operator.render.inputs import Inputs

LOADED_FLAG: Final = "--max-cpu-loras="
"""Tells how many adapters the pods of a template hold."""


def arguments(inputs: Inputs) -> list[str]:
    """Arguments of the container, after the image's entry point."""
    # In one word each, so that no value is taken for an option.
    revision = [f"--revision={inputs.source_revision}"] if inputs.source_revision else []
    return [
        "serve",
        f"--model={inputs.uri}",
        *revision,
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
        "--",
        *engine_flags(inputs),
    ]


def engine_flags(inputs: Inputs) -> list[str]:
    """vLLM's flags: typed fields, then the profile's args, then the spec's."""
    flags = []
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
