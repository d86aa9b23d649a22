"""vLLM flags that `spec.engine.args` may not carry, and the field to use instead. Checked by operator and runtime."""

from collections.abc import Iterable
from typing import Final

_LIFE_CYCLE: Final = "Arriero sets it for every pod; remove it"
_OWN_SERVER: Final = "Arriero's own HTTP server answers, so it would have no effect; remove it"
_NO_ROUTE: Final = "Arriero does not serve the route that it is for, so it would have no effect; remove it"
_CORS: Final = "not supported: answer browsers of other origins with a proxy in front of the model's Service"

OWNED_FLAGS: Final[dict[str, str]] = {
    "model": "use spec.model.uri",
    "model-tag": "use spec.model.uri",
    "served-model-name": "use spec.model.name and spec.model.aliases",
    "revision": "use spec.model.revision",
    "tokenizer-revision": "use spec.model.revision",
    "code-revision": "use spec.model.revision",
    "trust-remote-code": "use spec.model.trustRemoteCode",
    "tensor-parallel-size": "use spec.engine.tensorParallelSize",
    "pipeline-parallel-size": "use spec.engine.pipelineParallelSize",
    "data-parallel-size": "use spec.engine.dataParallelSize",
    "quantization": "use spec.engine.quantization",
    "gpu-memory-utilization": "use spec.engine.gpuMemoryUtilization",
    "tool-call-parser": "use spec.engine.toolCallParser",
    "enable-auto-tool-choice": "use spec.engine.toolCallParser",
    "reasoning-parser": "use spec.engine.reasoningParser",
    "chat-template": "use spec.engine.chatTemplate",
    "max-model-len": "use spec.engine.maxModelLen",
    "dtype": "use spec.engine.dtype",
    "enforce-eager": "use spec.engine.enforceEager",
    "max-num-seqs": "use spec.engine.maxNumSeqs",
    "download-dir": "use spec.cache",
    "config": "write the flags into spec.engine.args one by one",
    "logging-config": _LIFE_CYCLE,
    "log-config-file": _LIFE_CYCLE,
    "host": _LIFE_CYCLE,
    "port": _LIFE_CYCLE,
    "uds": _LIFE_CYCLE,
    "root-path": _LIFE_CYCLE,
    "middleware": "not supported: put a proxy in front of the model's Service",
    "ssl-keyfile": "not supported: end TLS in front of the model's Service",
    "ssl-certfile": "not supported: end TLS in front of the model's Service",
    "ssl-ca-certs": "not supported: end TLS in front of the model's Service",
    "ssl-cert-reqs": "not supported: end TLS in front of the model's Service",
    "ssl-ciphers": "not supported: end TLS in front of the model's Service",
    "enable-ssl-refresh": "not supported: end TLS in front of the model's Service",
    "api-key": "use spec.serving.apiKey",
    "enable-lora": "use spec.lora",
    "max-lora-rank": "use spec.lora.maxRank",
    "max-loras": "use spec.lora.maxActive",
    "max-cpu-loras": "use spec.lora.maxLoaded",
    "lora-modules": "use spec.lora.adapters",
    "shutdown-timeout": "use spec.serving.drainSeconds",
    "api-server-count": "use spec.replicas",
    "headless": _LIFE_CYCLE,
    "data-parallel-address": _LIFE_CYCLE,
    "data-parallel-rpc-port": _LIFE_CYCLE,
    "data-parallel-rank": _LIFE_CYCLE,
    "data-parallel-start-rank": _LIFE_CYCLE,
    "data-parallel-size-local": _LIFE_CYCLE,
    "data-parallel-backend": _LIFE_CYCLE,
    "data-parallel-hybrid-lb": _LIFE_CYCLE,
    "data-parallel-external-lb": _LIFE_CYCLE,
    "data-parallel-multi-port-external-lb": _LIFE_CYCLE,
    "data-parallel-supervisor-port": _LIFE_CYCLE,
    "dp-supervisor-probe-interval-s": _LIFE_CYCLE,
    "dp-supervisor-probe-timeout-s": _LIFE_CYCLE,
    "dp-supervisor-probe-failure-threshold": _LIFE_CYCLE,
    "nnodes": _LIFE_CYCLE,
    "node-rank": _LIFE_CYCLE,
    "master-addr": _LIFE_CYCLE,
    "master-port": _LIFE_CYCLE,
    "disable-log-stats": "not supported: the engine's counters show whether it hangs; remove it",
    "hf-token": "put the token into a Secret, named by spec.model.credentials.secretName",
    "grpc": "not supported: models are served over HTTP; remove it",
    "grpc-port": "not supported: models are served over HTTP; remove it",
    "uvicorn-log-level": _OWN_SERVER,
    "disable-uvicorn-access-log": _OWN_SERVER,
    "disable-access-log-for-endpoints": _OWN_SERVER,
    "h11-max-incomplete-event-size": _OWN_SERVER,
    "h11-max-header-count": _OWN_SERVER,
    "allow-credentials": _CORS,
    "allowed-origins": _CORS,
    "allowed-methods": _CORS,
    "allowed-headers": _CORS,
    "disable-fastapi-docs": _NO_ROUTE,
    "enable-offline-docs": _NO_ROUTE,
    "enable-tokenizer-info-endpoint": _NO_ROUTE,
    "enable-server-load-tracking": _NO_ROUTE,
    "enable-scale-out": _NO_ROUTE,
    "tokens-only": _NO_ROUTE,
    "enable-elastic-ep": _NO_ROUTE,
    "elastic-ep-max-dp-size": _NO_ROUTE,
    "enable-sleep-mode": _NO_ROUTE,
    "profiler-config": _NO_ROUTE,
    "weight-transfer-config": _NO_ROUTE,
    "io-processor-plugin": _NO_ROUTE,
    "cohere-is-reasoning-model": _NO_ROUTE,
    "cohere-format": _NO_ROUTE,
    "anthropic-disabled-thinking-effort": _NO_ROUTE,
    "enable-flash-late-interaction": _NO_ROUTE,
}
"""Flag without its dashes, in kebab case → what to do instead."""

WRITTEN: Final = frozenset(
    {
        "tensor-parallel-size",
        "pipeline-parallel-size",
        "data-parallel-size",
        "quantization",
        "gpu-memory-utilization",
        "chat-template",
        "max-model-len",
        "dtype",
        "enforce-eager",
        "max-num-seqs",
        "enable-lora",
        "max-lora-rank",
        "max-loras",
        "max-cpu-loras",
    }
)
"""Owned flags that the operator itself writes from typed fields: the runtime refuses them where they stand twice."""

LORA_ONLY: Final = frozenset(
    {
        "lora-dtype",
        "enable-tower-connector-lora",
        "fully-sharded-loras",
        "lora-target-modules",
        "default-mm-loras",
        "specialize-active-lora",
        "enable-mixed-moe-lora-format",
        "enable-moe-shared-loras",
        "max-lora-cls-labels",
    }
)
"""Flags without an effect unless adapters are switched on (`enable-lora`)."""

SHORT: Final = {
    "-asc": "api-server-count",
    "-n": "nnodes",
    "-r": "node-rank",
    "-q": "quantization",
    "-tp": "tensor-parallel-size",
    "-pp": "pipeline-parallel-size",
    "-dcp": "decode-context-parallel-size",
    "-pcp": "prefill-context-parallel-size",
    "-dp": "data-parallel-size",
    "-dpn": "data-parallel-rank",
    "-dpr": "data-parallel-start-rank",
    "-dpl": "data-parallel-size-local",
    "-dpa": "data-parallel-address",
    "-dpp": "data-parallel-rpc-port",
    "-dpb": "data-parallel-backend",
    "-dph": "data-parallel-hybrid-lb",
    "-dpe": "data-parallel-external-lb",
    "-dpm": "data-parallel-multi-port-external-lb",
    "-ep": "enable-expert-parallel",
    "-sc": "speculative-config",
    "-dc": "diffusion-config",
    "-cc": "compilation-config",
    "-ac": "attention-config",
}
"""Short forms of vLLM's flags. Those of one letter take their value also without a space: `-n2`."""


def flag_names(args: Iterable[str]) -> list[str]:
    """The flags in `args`, normalised: `--x=y`, `--x y`, `--x_y`, `--no-x` and short forms give `x` (kebab case)."""
    names = []
    for arg in args:
        stem = arg.split("=", 1)[0].split(".", 1)[0]
        if arg.startswith("--"):
            names.append(stem[2:].replace("_", "-").lower().removeprefix("no-"))
        elif name := SHORT.get(stem) or SHORT.get(arg[:2]):
            names.append(name)
    return names


def refused(args: Iterable[str]) -> list[tuple[str, str]]:
    """The owned flags among `args` with what to do instead, in their order."""
    return [(f"--{name}", OWNED_FLAGS[name]) for name in flag_names(args) if name in OWNED_FLAGS]
