"""vLLM flags that `spec.engine.args` may not carry, and the field to use instead. Checked by operator and runtime."""

from collections.abc import Iterable
from typing import Final

_LIFE_CYCLE: Final = "Arriero sets it for every pod; remove it"

OWNED_FLAGS: Final[dict[str, str]] = {
    "model": "use spec.model.uri",
    "model-tag": "use spec.model.uri",
    "served-model-name": "use spec.model.name and spec.model.aliases",
    "revision": "use spec.model.revision",
    "tokenizer-revision": "use spec.model.revision",
    "code-revision": "use spec.model.revision",
    "trust-remote-code": "not supported yet; convert the model so that it needs no code of its own",
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
    "api-key": "not supported yet: limit access with a NetworkPolicy",
    "enable-lora": "adapters are not supported yet; remove it",
    "lora-modules": "adapters are not supported yet; remove it",
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
    "nnodes": _LIFE_CYCLE,
    "node-rank": _LIFE_CYCLE,
    "master-addr": _LIFE_CYCLE,
    "master-port": _LIFE_CYCLE,
}
"""Flag without its dashes, in kebab case → what to do instead."""

_SHORT: Final = {
    "-q": "quantization",
    "-tp": "tensor-parallel-size",
    "-pp": "pipeline-parallel-size",
    "-dp": "data-parallel-size",
}


def flag_names(args: Iterable[str]) -> list[str]:
    """The flags in `args`, normalised: `--x=y`, `--x y`, `--x_y`, `--no-x` and short forms give `x` (kebab case)."""
    names = []
    for arg in args:
        if arg in _SHORT:
            names.append(_SHORT[arg])
        elif arg.startswith("--"):
            name = arg[2:].split("=", 1)[0].split(".", 1)[0].replace("_", "-").lower()
            names.append(name.removeprefix("no-"))
    return names


def refused(args: Iterable[str]) -> list[tuple[str, str]]:
    """The owned flags among `args` with what to do instead, in their order."""
    return [(f"--{name}", OWNED_FLAGS[name]) for name in flag_names(args) if name in OWNED_FLAGS]
