"""The environment of engine and hub client: writable places below the cache folder, nothing sent to anybody.

Must be applied before either is imported: both read most variables on import.
"""

from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

_FIXED: Final = {
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
_DEFAULTS: Final = {
    # Plain transfers work with every hub and mirror; somebody may switch the other kind on.
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
_FOLDERS: Final = {
    "HOME": "home",
    "XDG_CACHE_HOME": "home/.cache",
    "HF_HOME": "huggingface",
    "VLLM_CACHE_ROOT": "vllm",
    "VLLM_CONFIG_ROOT": "vllm/config",
    "TORCHINDUCTOR_CACHE_DIR": "torchinductor",
    "TRITON_CACHE_DIR": "triton",
}


def prepare(environ: MutableMapping[str, str], cache_dir: Path) -> None:
    """Set what the engine needs. `HF_ENDPOINT`, `HF_TOKEN` and the like are left as they are."""
    for name, folder in _FOLDERS.items():
        path = cache_dir / folder
        path.mkdir(parents=True, exist_ok=True)
        environ[name] = str(path)
    environ.update(_FIXED)
    for name, value in _DEFAULTS.items():
        environ.setdefault(name, value)
    if "://" in environ.get("VLLM_PORT", ""):
        # A Service named "vllm" puts it there, and the engine takes it for a port.
        del environ["VLLM_PORT"]
    for name in ("HF_ENDPOINT", "HF_TOKEN"):
        if not environ.get(name, "x"):
            del environ[name]
