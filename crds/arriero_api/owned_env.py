"""Environment variables that `spec.engine.env` may not carry, and why. Checked by operator and runtime."""

import re
from typing import Final

from arriero_api.credentials import SECRET_VARIABLES

PREFIX: Final = "ARRIERO_"
_CACHE: Final = "it is the cache volume"
_QUIET: Final = "nothing is sent to anybody; remove it"
_TOKEN: Final = "use spec.model.credentials"  # noqa: S105 - advice, no token
_FIELD: Final = "spec.model.credentials.secretName"
_WITH_PASSWORD: Final = re.compile(r"://[^/@\s]*:[^/@\s]+@")
_NO_ROUTE: Final = "Arriero does not serve the routes that it is for; remove it"
_LOG: Final = "causes of failures are read from the log as it is; remove it"

REPLACED: Final[dict[str, str]] = {
    "HOME": _CACHE,
    "XDG_CACHE_HOME": _CACHE,
    "HF_HOME": _CACHE,
    "VLLM_CACHE_ROOT": _CACHE,
    "VLLM_CONFIG_ROOT": _CACHE,
    "TORCHINDUCTOR_CACHE_DIR": _CACHE,
    "TRITON_CACHE_DIR": _CACHE,
    "VLLM_WORKER_MULTIPROC_METHOD": "the engine's processes start in one way only; remove it",
    "VLLM_NO_USAGE_STATS": _QUIET,
    "DO_NOT_TRACK": _QUIET,
    "HF_HUB_DISABLE_TELEMETRY": _QUIET,
    "PYTHONUNBUFFERED": "the log is never buffered; remove it",
}
"""What the runtime sets to values of its own. An image may have them too, so the runtime only says so."""

OWNED_VARIABLES: Final[dict[str, str]] = {
    **REPLACED,
    "HF_HUB_CACHE": _CACHE,
    "HUGGINGFACE_HUB_CACHE": _CACHE,
    "TRANSFORMERS_CACHE": _CACHE,
    "HUGGING_FACE_HUB_TOKEN": _TOKEN,
    "HF_TOKEN_PATH": _TOKEN,
    "VLLM_API_KEY": "use spec.serving.apiKey",
    "VLLM_PORT": "the port is the operator's",
    "VLLM_HOST_IP": "the address is the pod's",
    "VLLM_CONFIGURE_LOGGING": _LOG,
    "VLLM_LOGGING_CONFIG_PATH": _LOG,
    "VLLM_SERVER_DEV_MODE": _NO_ROUTE,
    "VLLM_SKIP_MODEL_NAME_VALIDATION": "a name that is not served is never answered; remove it",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": _NO_ROUTE,
}
"""Variable → why it may not be set, and what to do."""


def literal_secret(name: str, value: str | None) -> str:
    """What to do instead of a secret that stands in the resource itself; empty where none does.

    Whoever may read the resource or the pod would have it.
    """
    if not value:
        return ""
    if name in SECRET_VARIABLES:
        key = SECRET_VARIABLES[name]
        return f"its value would be readable for all: put it into a Secret under the key {key}, named by {_FIELD}"
    if _WITH_PASSWORD.search(value):
        return "its value has a password: use valueFrom.secretKeyRef, or the key proxy of the Secret of credentials"
    return ""


def advice(name: str) -> str:
    """Why this variable may not be set; empty where it may."""
    if name.startswith(PREFIX):
        return f"names with {PREFIX} are the operator's"
    return OWNED_VARIABLES.get(name, "")
