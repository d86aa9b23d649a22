"""The table of known engine failures: which error means which reason. Kinds of errors, never whole lines.

The first row that matches wins. A row says what happened in the words of `message`, a template over the groups of
`pattern`; groups named in `details` are passed on as facts. What no row knows stays EngineFailed: a wrong reason is
worse than none. Wordings are those of vLLM 0.32, transformers 5, huggingface_hub 2, torch 2.13.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of error. `pattern` is searched in the error with its type; where `frames` or `earlier` are given, they
    must be found in the traceback or in the errors that came before. `remedy` is given where the reason's own would not
    do."""

    reason: str
    pattern: re.Pattern[str]
    message: str
    details: Mapping[str, str] = field(default_factory=dict)
    frames: re.Pattern[str] | None = None
    earlier: re.Pattern[str] | None = None
    remedy: str = ""


def _kind(
    reason: str,
    pattern: str,
    message: str,
    details: Mapping[str, str] | None = None,
    *,
    frames: str | None = None,
    earlier: str | None = None,
    remedy: str = "",
) -> Kind:
    return Kind(
        reason,
        re.compile(pattern, re.DOTALL),
        message,
        details or {},
        re.compile(frames) if frames else None,
        re.compile(earlier) if earlier else None,
        remedy,
    )


UNKNOWN_QUANTIZATION: Final = r"Unknown quantization method: (?P<what>[\w-]+)"
"""Said of the model's configuration and of the flag alike: only who knows the flags can tell which of them it is."""
_LARGEST: Final = {"largest": "largestMaxModelLen"}
_LOADING: Final = r"in (load_weights|weight_loader|load_\w*weight\w*|\w*_weight_loader)$"

KINDS: Final[tuple[Kind, ...]] = (
    # Arguments
    _kind(
        "InvalidArguments",
        r"^usage: unrecognized arguments: (?P<argument>.+)",
        "vLLM does not know these arguments: {argument}",
        {"argument": "argument"},
    ),
    _kind(
        "InvalidArguments",
        r"^usage: (?:ambiguous option: |argument )(?:-\w+/|[^:]*/)?(?P<argument>--[\w.-]+)[^:]*:? (?P<what>.+)",
        "{argument}: {what}",
        {"argument": "argument"},
    ),
    _kind(
        "InvalidArguments",
        r"the `quantization` argument \((?P<value>[^)]*)\)",
        "--quantization {value} contradicts the model's own configuration",
        {"argument=--quantization": "argument"},
    ),
    _kind(
        "InvalidArguments",
        r"invalid tool call parser: (?P<value>\S+)",
        "spec.engine.toolCallParser: vLLM has no tool call parser {value}",
    ),
    _kind(
        "InvalidArguments",
        r"invalid reasoning parser: (?P<value>\S+)",
        "spec.engine.reasoningParser: vLLM has no reasoning parser {value}",
    ),
    _kind(
        "InvalidArguments",
        r"(?P<argument>--[a-z][\w-]+) (?P<what>requires|cannot be used with|must be) (?P<other>--[a-z][\w-]+)",
        "{argument} {what} {other}",
        {"argument": "argument"},
    ),
    _kind(
        "InvalidArguments",
        r"supplied chat template string \((?P<value>[^)]*)\) appears path-like, but doesn't exist",
        "--chat-template names a file that does not exist: {value}",
        {"argument=--chat-template": "argument"},
    ),
    _kind(
        "InvalidArguments",
        r"attention heads \((?P<heads>\d+)\) must be divisible by tensor parallel size \((?P<size>\d+)\)",
        "--tensor-parallel-size {size} does not divide the model's {heads} attention heads",
        {"argument=--tensor-parallel-size": "argument"},
    ),
    _kind(
        "InvalidArguments",
        r"Not enough allowed NUMA nodes to bind threads of (?P<size>\d+) local CPUWorkers",
        "--tensor-parallel-size and its like ask for {size} NUMA nodes, which is more than the pod has",
        {"argument=--tensor-parallel-size": "argument"},
    ),
    _kind(
        "InvalidArguments",
        r"World size \((?P<size>\d+)\) is larger than the number of available GPUs \((?P<there>\d+)\)",
        "--tensor-parallel-size and its like ask for {size} accelerators and the pod has {there}",
        {"argument=--tensor-parallel-size": "argument"},
    ),
    _kind(
        "InvalidArguments",
        r"Unknown vLLM environment variable detected: (?P<name>\w+)",
        "--fail-on-environ-validation refuses the variable {name}",
        {"argument=--fail-on-environ-validation": "argument"},
    ),
    # Context and memory
    _kind(
        "ContextTooLong",
        r"max_model_len \((?P<asked>\d+)\) is greater than the derived max_model_len \(\w+=(?P<largest>\d+)",
        "The model's context holds {largest} tokens; maxModelLen asks for {asked}",
        _LARGEST,
    ),
    _kind(
        "ContextTooLong",
        r"max seq len \((?P<asked>\d+)\).*?(?P<needed>[\d.]+ GiB) KV cache is needed.*?available KV cache memory "
        r"\((?P<free>[\d.]+ GiB)\).*?estimated maximum model length is (?P<largest>[1-9]\d*)",
        "A context of {asked} tokens needs {needed} of cache and {free} are available: {largest} tokens fit",
        _LARGEST,
    ),
    _kind(
        "AcceleratorMemoryTooSmall",
        r"max seq len \((?P<asked>\d+)\).*?(?P<needed>[\d.]+ GiB) KV cache is needed",
        "A context of {asked} tokens needs {needed} of cache, which is more than there is",
    ),
    _kind(
        "AcceleratorMemoryTooSmall",
        r"No available memory for the cache blocks",
        "The model leaves no accelerator memory for the cache",
    ),
    _kind(
        "AcceleratorMemoryTooSmall",
        r"(?P<what>(?:CUDA|HIP|XPU) out of memory\.[^.]*(?:\.\d+[^.]*)?)",
        "The accelerator's memory is too small: {what}",
    ),
    _kind(
        "AcceleratorMemoryTooSmall",
        r"Free memory on device \S* ?\((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\).*?less than desired GPU memory",
        "Only {free} of {total} GiB of accelerator memory are free, less than the engine wants",
    ),
    _kind(
        "SharedMemoryTooSmall",
        r"Insufficient space in /dev/shm[^:]*: (?P<needed>\d+) MiB required, (?P<free>\d+) MiB free",
        "The engine needs {needed} MiB of /dev/shm and {free} MiB are free",
        {"needed": "neededMiB", "free": "freeMiB"},
    ),
    _kind("SharedMemoryTooSmall", r"No space left on device: '/dev/shm", "/dev/shm is full"),
    # The model
    _kind(
        "ModelUnsupported",
        r"Model architectures \[(?P<what>[^\]]*)\] are not supported",
        "vLLM does not support the architecture {what}",
    ),
    _kind(
        "ModelUnsupported",
        r"Model architectures \[(?P<what>[^\]]*)\] failed to be inspected",
        "The image lacks what vLLM needs for the architecture {what}; the log says what that is",
    ),
    _kind(
        "ModelUnsupported",
        r"model type [`'](?P<what>[^`']+)[`'] but Transformers does not recognize",
        "The model type {what} is unknown to vLLM",
    ),
    _kind("ModelUnsupported", UNKNOWN_QUANTIZATION, "vLLM does not know quantization {what}"),
    _kind(
        "ModelUnsupported",
        r"contains custom code which must be executed",
        "The model needs code of its own, which is not run",
        remedy="Set spec.model.trustRemoteCode where you trust whoever can change the model's source: "
        "its code then runs in the pod.",
    ),
    _kind(
        "ModelUnsupported",
        r"Unsupported \w+ attention configuration: (?P<what>[\w= ]+)",
        "The engine has no attention for this model: {what}",
    ),
    _kind(
        "ModelIncomplete",
        r"Invalid repository ID or local directory specified: '(?P<folder>[^']*)'",
        "{folder} has no config.json",
    ),
    _kind("ModelIncomplete", r"Cannot find any model weights with [`'](?P<folder>[^`']*)", "{folder} has no weights"),
    _kind(
        "ModelIncomplete",
        r"(?P<folder>\S+) does not appear to have a file named (?P<file>[\w./-]+\w)",
        "{folder} has no {file}",
    ),
    _kind("ModelIncomplete", r"Can't load tokenizer for '(?P<folder>[^']*)'", "{folder} has no usable tokenizer"),
    _kind(
        "ModelIncomplete",
        r"JSONDecodeError: (?P<what>.+)",
        "The tokenizer's files are no JSON: {what}",
        frames=r"tokenizer|tokenization",
    ),
    _kind(
        "ModelIncomplete",
        r"JSONDecodeError: (?P<what>.+)|It looks like the config file at '(?P<file>[^']*)' is not a valid JSON file",
        "config.json is no JSON: {what}{file}",
        frames=r"config",
    ),
    _kind(
        "ModelNotFound",
        r"HFValidationError: Repo id must be .*?'(?P<folder>/[^']*)'",
        "There is no folder {folder}",
        remedy="Correct spec.model.uri, or the one of spec.engine.args that names it.",
    ),
    _kind(
        "WeightsInvalid",
        r"SafetensorError: (?P<what>Error while deserializing.+)",
        "A weights file cannot be read: {what}",
    ),
    _kind(
        "WeightsInvalid",
        r"^(?:RuntimeError|ValueError): (?P<what>.*(?:size of tensor|dimension size|shape|no module or parameter named"
        r"|not initialized from checkpoint).*)",
        "The weights do not belong to the model's configuration: {what}",
        frames=_LOADING,
    ),
    _kind(
        "WeightsInvalid",
        r"^(?:AssertionError|KeyError)(?P<what>.*)",
        "The weights do not belong to the model's configuration{what}",
        frames=_LOADING,
    ),
    # Time: only where somebody has set a limit, as the runtime sets none that matters
    _kind(
        "EngineFailed",
        r"Timed out waiting for engine core processes to start.*?Waited (?P<seconds>\d+) ?s",
        "The engine was not loaded within {seconds} seconds, the value of VLLM_ENGINE_READY_TIMEOUT_S in "
        "spec.engine.env; raise it, or leave it out: a load may then take as long as "
        "spec.rollout.progressDeadlineSeconds says",
        {"seconds": "readyTimeoutSeconds"},
    ),
    # The source, where the engine itself asks it
    _kind("Unauthorized", r"access a gated repo", "The repository is gated and this token has no access to it"),
    _kind(
        "Unauthorized",
        r"(?:Client error '40[13]|\b40[13] Client Error|\b403 Forbidden).*?url:? '?(?P<url>[^\s']+)",
        "Access is refused: {url}",
    ),
    _kind("ModelNotFound", r"(?P<what>\S+) is not a local folder and is not a valid model", "There is no {what}"),
    _kind("RevisionNotFound", r"(?P<what>\S+) is not a valid git identifier", "There is no revision {what}"),
    _kind("SourceRateLimited", r"\b429\b.*?(?:Too Many Requests|Client Error)", "The source limits requests (429)"),
    _kind(
        "SourceRateLimited",
        r"couldn't connect to '(?P<url>[^']*)' to load",
        "{url} limits requests (429)",
        earlier=r"\b429\b.*(?:Too Many Requests|Client Error)",
    ),
    _kind(
        "SourceUnreachable",
        r"couldn't connect to '(?P<url>[^']*)' to load",
        "{url} does not answer, or answers with errors",
    ),
    _kind(
        "DownloadFailed",
        r"peer closed connection without sending complete message body(?P<what>.*)",
        "The transfer was cut off{what}",
    ),
)
