"""Every known way in which the engine fails at its start or in its life, and what the runtime makes of it.

The names are those of the recordings beside this module, where there is one: those were made with the bare engine. The
runtime refuses some of them before the engine is asked, and says so in its own words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.hub import Fault

SERVES: Final = ""
"""`Case.reason` where the model is served."""
REPOSITORY: Final = "acme/tiny"


@dataclass(frozen=True, slots=True)
class Case:
    """One way to fail. `model` names a folder of `broken`, or is "tiny" or "smollm2"; `hub` are the faults of the hub
    that the model is fetched from instead.

    `reason`: what the runtime reports, SERVES for none; `words` stand in its message; `details` are told with it.
    """

    name: str
    reason: str
    words: str = ""
    details: Mapping[str, str | int] = field(default_factory=dict)
    model: str = "tiny"
    engine: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    place: str = ""
    """Shell commands that prepare the mounts of the process's own."""
    user: int = 0
    hub: tuple[Fault, ...] | None = None
    gated: bool = False
    port_taken: bool = False
    repository: str = REPOSITORY
    hub_url: str = ""
    """Of a hub that is not there."""


def _argument(name: str, flags: str, argument: str, words: str, **more: Any) -> Case:
    details = {"argument": argument} if argument else {}
    return Case(name, "InvalidArguments", words, details, engine=tuple(flags.split()), **more)


ARGUMENTS: Final = (
    _argument("args-api-server-count", "--api-server-count 2", "", "--api-server-count"),
    _argument("args-autotool-no-parser", "--enable-auto-tool-choice", "", "use spec.engine.toolCallParser"),
    _argument("args-chat-template-missing-file", "--chat-template no/such.jinja", "--chat-template", "no/such.jinja"),
    _argument("args-config-missing", "--config nope.yaml", "", "--config"),
    _argument("args-dtype-bad", "--dtype float99", "--dtype", "float99"),
    _argument("args-gmu-bad", "--gpu-memory-utilization 1.5", "--gpu-memory-utilization", "1.5"),
    _argument("args-mml-text", "--max-model-len lots", "--max-model-len", "lots"),
    _argument("args-quant-contradict", "--quantization fp8", "--quantization", "fp8", model="awq"),
    _argument("args-quant-unknown", "--quantization fp99", "--quantization", "fp99"),
    _argument("args-toolparser-unknown", "--enable-auto-tool-choice --tool-call-parser nope", "", "toolCallParser"),
    _argument("args-toolparser-unknown-noauto", "--tool-call-parser nope", "", "toolCallParser"),
    _argument("args-tp-zero", "--tensor-parallel-size 0", "--tensor-parallel-size", "greater than or equal to 1"),
    Case("args-toolparser-misspelt", "InvalidArguments", "Did you mean hermes?", own=("--tool-call-parser=hremes",)),
    Case("args-reasoningparser-unknown", "InvalidArguments", "reasoningParser", own=("--reasoning-parser=nope",)),
    _argument("args-unknown-flag", "--max-modl-len 12", "--max-modl-len", "Did you mean --max-model-len"),
    _argument("args-unknown-flag-noabbrev", "--no-such-flag", "--no-such-flag", "--no-such-flag"),
    _argument("cfg-lora-rank", "--enable-lora --max-lora-rank 7", "--max-lora-rank", "512"),
    _argument("lora-start-not-enabled", "--lora-modules a=/nowhere", "", "--lora-modules"),
    _argument("lora-start-rank-too-big", "--enable-lora --lora-modules a=/nowhere", "", "--lora-modules"),
    _argument(
        "env-fail-on-environ",
        "--fail-on-environ-validation",
        "--fail-on-environ-validation",
        "VLLM_SERVICE_HOST",
        env={"VLLM_SERVICE_HOST": "10.0.0.1"},
    ),
)
CONFIGURATION: Final = (
    Case("args-port-in-use", "EngineFailed", "Port", port_taken=True),
    Case("cfg-dp2", SERVES, engine=("--data-parallel-size", "2")),
    Case(
        "cfg-mml-gt-position",
        "ContextTooLong",
        "2048",
        {"largestMaxModelLen": 2048},
        engine=("--max-model-len=100000",),
    ),
    Case("cfg-runner-pooling", SERVES, engine=("--runner", "pooling")),
    Case(
        "cfg-tp2",
        "InvalidArguments",
        "2 NUMA nodes",
        {"argument": "--tensor-parallel-size"},
        engine=("--tensor-parallel-size", "2"),
    ),
    Case(
        "kv-tiny",
        "ContextTooLong",
        "640 tokens fit",
        {"largestMaxModelLen": 640},
        model="smollm2",
        engine=("--max-model-len=8192", "--kv-cache-memory-bytes", "20000000"),
    ),
    Case(
        "kv-mml-auto",
        SERVES,
        model="smollm2",
        engine=("--max-model-len=-1", "--kv-cache-memory-bytes", "20000000"),
    ),
)
MODELS: Final = (
    Case("model-arch-missing", "ModelUnsupported", "frobnicator", model="arch-missing"),
    Case("model-arch-unknown", "ModelUnsupported", "FrobnicatorForCausalLM", model="arch-unknown"),
    Case("model-autocode", "ModelUnsupported", "code of its own", model="autocode"),
    Case("model-bad-template", SERVES, model="bad-template"),
    Case("model-raise-template", SERVES, model="raise-template"),
    Case("model-no-template", SERVES, model="no-template"),
    Case("model-config-missing", "ModelIncomplete", "config.json", model="config-missing"),
    Case("model-hd16", "ModelUnsupported", "head_dim=16", model="hd16"),
    Case("model-missing-tensor", "WeightsInvalid", "layers.0.self_attn.k_proj", model="missing-tensor"),
    Case("model-nan", "NoUsableAnswer", "", model="nan"),
    Case("model-no-weights", "ModelIncomplete", "safetensors", model="no-weights"),
    Case("model-path-missing", "ModelNotFound", "/nowhere", model="missing"),
    Case("model-q-awq", "WeightsInvalid", "no scales", model="q-awq"),
    Case("model-q-fp8", "WeightsInvalid", "no scales", model="q-fp8"),
    Case("model-q-unknown", "ModelUnsupported", "turboquant9", model="q-unknown"),
    Case("model-tok-broken", "ModelIncomplete", "tokenizer", model="tok-broken"),
    Case("model-trunc", "WeightsInvalid", "", model="trunc"),
    Case("model-wrong-shape", "WeightsInvalid", "", model="wrong-shape"),
)
SOURCES: Final = (
    Case("hub-401", "ModelNotFound", "does not show it to this pod", hub=(Fault(status=401),)),
    Case("hub-401-gated", "ModelGated", REPOSITORY, hub=(), gated=True),
    Case("hub-404-repo", "ModelNotFound", "acme/none", hub=(), repository="acme/none"),
    Case("hub-404-revision", "RevisionNotFound", "nope", hub=(), own=("--revision=nope",)),
    Case("hub-429", "SourceRateLimited", "429", {"retryAfterSeconds": 1}, hub=(Fault(status=429, retry_after=1),)),
    Case("hub-500", "SourceUnreachable", "", hub=(Fault(status=500),)),
    Case("hub-ok-slow", SERVES, hub=(Fault(path="*.safetensors", bytes_per_second=2_000_000),)),
    Case(
        "hub-truncated-file", "DownloadTruncated", REPOSITORY, hub=(Fault(path="*.safetensors", truncate_at=3_000_000),)
    ),
    Case("hub-unreachable", "SourceUnreachable", "127.0.0.1:9", hub_url="http://127.0.0.1:9"),
)
_LITTLE_ROOM: Final = "mount -t tmpfs -o size=64k tmpfs $FULL && { cat /dev/zero >$FULL/f 2>/dev/null; true; }"
PLACES: Final = (
    Case("env-home-unwritable-root", SERVES, env={"HOME": "/proc/nonexistent"}),
    Case("env-readonly-root-no-tmp", "CacheUnusable", "temporary files", place="READ_ONLY", user=65532),
    Case("env-readonly-root-tmp", SERVES, place="READ_ONLY_TMP", user=65532),
    Case("env-uid-random-home-missing", SERVES, env={"HOME": "/nonexistent"}, place="true", user=1000990000),
    Case(
        "env-shm-1m",
        "SharedMemoryTooSmall",
        "1 MiB",
        {"neededMiB": 160, "freeMiB": 1},
        place="mount -t tmpfs -o size=1m tmpfs /dev/shm",
    ),
    Case("env-tmp-full", SERVES, place=_LITTLE_ROOM, env={"TMPDIR": "FULL"}),
    Case("env-vllm-port-uri", SERVES, env={"VLLM_PORT": "tcp://10.0.0.1:8000"}),
    Case("mem-ulimit-v", "EngineFailed", "", place="ulimit -v 5000000", model="smollm2"),
)
STARTS: Final = (*ARGUMENTS, *CONFIGURATION, *MODELS, *SOURCES, *PLACES)
"""All that show in a start."""
