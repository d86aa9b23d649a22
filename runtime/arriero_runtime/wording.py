"""Where somebody has to change something: fields of the resource, or arguments of a server that clients register models
with. Every message is written for the resource; this puts it into the other words. Standard library only."""

import re
from collections.abc import Mapping
from typing import Final

from arriero_api.pod import CACHE_LIMIT_VARIABLE
from arriero_api.reasons import reason

_AGAIN: Final = "Start the server again where it has ended, and register the model again; see its log if that repeats."
_LOG: Final = "See the server's log."
_TOKEN: Final = "the variable HF_TOKEN, or --credentials"  # noqa: S105 - the name of one

ALONE: Final[Mapping[str, str]] = {
    "ModelNotFound": "Correct provider_model_id; a private repository also looks like this to a server without "
    f"credentials: {_TOKEN}.",
    "RevisionNotFound": "Correct metadata.revision.",
    "Unauthorized": f"Ask the model's owner for access, and start the server with credentials that have it: {_TOKEN}.",
    "CredentialsInvalid": f"Start the server with valid credentials: {_TOKEN}.",
    "CredentialsMissing": "Put the named files into the folder of --credentials-dir that --credentials names.",
    "ModelGated": "Accept the terms on the repository's page with the account of the token, and start the server with "
    f"that token: {_TOKEN}.",
    "SourceUnreachable": "Check the hub's address (the variable HF_ENDPOINT), DNS and proxy.",
    "SourceTlsFailed": "Put the authority that signed the source's certificate into the file ca.crt of the folder that "
    "--credentials names, or correct the address.",
    "ProxyFailed": "Check the proxy's address, user and rules: the files proxy and noProxy of the folder that "
    "--credentials names, or HTTPS_PROXY and NO_PROXY.",
    "SourceOffline": "Remove HF_HUB_OFFLINE, or use a folder for --cache-dir that holds the model.",
    "SourceRateLimited": "Wait; use a token or a mirror (the variable HF_ENDPOINT) if it lasts.",
    "ChecksumMismatch": "It is fetched anew; check the mirror (the variable HF_ENDPOINT) or the proxy in front of the "
    "source if it lasts.",
    "CacheTooSmall": f"Raise {CACHE_LIMIT_VARIABLE} where it is set, or use a folder with more room for --cache-dir.",
    "CacheUnusable": "Use a folder for --cache-dir that the server's user may write.",
    "ModelIncomplete": "Put config.json, the weights and the tokenizer into the folder that provider_model_id names.",
    "InvalidArguments": "Correct the named argument; vLLM's stand behind --.",
    "ContextTooLong": "Set --max-model-len to at most the named length.",
    "AcceleratorMemoryTooSmall": "Lower --max-model-len or --max-num-seqs, or use larger or more accelerators.",
    "SharedMemoryTooSmall": "Make /dev/shm larger.",
    "OOMKilled": "Give the server more memory, or register a smaller model.",
    "EngineDied": _AGAIN,
    "EngineHung": _AGAIN,
    "EngineFailed": _LOG,
    "RuntimeExited": _LOG,
}
"""Reason → its remedy there, where that of the catalogue is for people who have a resource."""
_WORDS: Final[Mapping[str, str]] = {
    "spec.model.uri": "provider_model_id",
    "spec.model.name": "model_id",
    "spec.model.aliases": "further registrations",
    "spec.model.revision": "metadata.revision",
    "spec.model.trustRemoteCode": "--trust-remote-code",
    "its code then runs in the pod": "its code then runs in the server",
    "put the token into a Secret, named by spec.model.credentials.secretName": "set the variable HF_TOKEN",
    "Give spec.model.credentials a Secret with the key": "Give --credentials a folder with the file",
    "spec.model.credentials": _TOKEN,
    "spec.engine.args": "the arguments behind --",
    "spec.engine.env": "the environment",
    "spec.engine.tensorParallelSize": "--tensor-parallel-size",
    "spec.engine.pipelineParallelSize": "--pipeline-parallel-size",
    "spec.engine.dataParallelSize": "--data-parallel-size",
    "spec.engine.quantization": "--quantization",
    "spec.engine.gpuMemoryUtilization": "--gpu-memory-utilization",
    "spec.engine.toolCallParser": "--tool-call-parser in front of --",
    "spec.engine.reasoningParser": "--reasoning-parser in front of --",
    "spec.engine.chatTemplate": "--chat-template",
    "spec.engine.chatFormat": "--chat-format",
    "spec.engine.maxModelLen": "--max-model-len",
    "spec.engine.dtype": "--dtype",
    "spec.engine.enforceEager": "--enforce-eager",
    "spec.engine.maxNumSeqs": "--max-num-seqs",
    "; maxModelLen asks for": "; --max-model-len asks for",
    "spec.lora.maxRank": "--max-lora-rank",
    "spec.lora.maxActive": "--max-loras",
    "spec.lora.maxLoaded": "--max-cpu-loras",
    "use spec.lora.adapters": "adapters are not registered by clients; remove it",
    "spec.lora": "--enable-lora",
    "spec.cache.emptyDir.sizeLimit": CACHE_LIMIT_VARIABLE,
    "spec.cache": "--cache-dir",
    "spec.serving.apiKey": "--api-key-file",
    "spec.serving.drainSeconds": "--drain-seconds",
    "spec.serving.maxTokens": "--max-tokens",
    "spec.serving.requestTimeoutSeconds": "--request-timeout-seconds",
    "spec.rollout.progressDeadlineSeconds": "its client",
    "use spec.replicas": "start several servers",
    "the model's Service": "the server",
    "Arriero sets it for every pod": "Arriero sets it itself",
    "the port is the operator's": "use --port",
    "the address is the pod's": "use --host",
    "it is the cache volume": "it is below --cache-dir",
}
"""What a message may hold → what stands there instead."""
_LONGEST_FIRST: Final = "|".join(re.escape(words) for words in sorted(_WORDS, key=len, reverse=True))
_KNOWN: Final = re.compile(rf"(?:{_LONGEST_FIRST})(?!\.?\w)")


class _Way:
    alone = False


def choose(*, alone: bool) -> None:
    """For this process, from now on. `alone`: clients say what is served, and there is no resource."""
    _Way.alone = alone


def is_alone() -> bool:
    """Whether there is no resource."""
    return _Way.alone


def remedy(name: str) -> str:
    """Of a reason of the catalogue. Raises KeyError for another."""
    found = reason(name).remedy
    return ALONE.get(name, found) if _Way.alone else found


def fit(message: str) -> str:
    """A message, or a remedy of its own, in the words of the way that was chosen."""
    return _KNOWN.sub(lambda found: _WORDS[found[0]], message) if _Way.alone else message
