"""The environment of engine and hub client: writable places of their own, nothing sent to anybody.

Must be applied before either is imported: both read most variables on import.
"""

import errno
import logging
import os
import tempfile
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final

from arriero_api.contract import Failure, Phase
from arriero_api.owned_env import OWNED_VARIABLES, REPLACED
from arriero_runtime.cli import ServeOptions
from arriero_runtime.failing import failure

log = logging.getLogger(__name__)

_FIXED: Final = {
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
_DEFAULTS: Final = {
    # A user id that no file knows has no name, which some libraries ask for.
    "USER": "arriero",
    # Plain transfers work with every hub and mirror; somebody may switch the other kind on.
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # The engine would give up a load after ten minutes. How long one may take is for the resource to say: this is the
    # longest spec.rollout.progressDeadlineSeconds.
    "VLLM_ENGINE_READY_TIMEOUT_S": "604800",
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


def refused(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Variables that would change what is Arriero's, each with what to do instead."""
    owned = {name: why for name, why in OWNED_VARIABLES.items() if name not in REPLACED and environ.get(name)}
    if _is_service_link(environ):
        del owned["VLLM_PORT"]
    return tuple(f"{name} cannot be set: {why}" for name, why in owned.items())


def _is_service_link(environ: Mapping[str, str]) -> bool:
    """A Service named "vllm" puts an address there, and the engine takes it for a port."""
    return "://" in environ.get("VLLM_PORT", "")


def own_folder(options: ServeOptions) -> Path:
    """Below which the engine writes: the cache folder, unless other pods use that too."""
    return options.state_dir / "engine" if options.shared_cache else options.cache_dir


def unusable(options: ServeOptions) -> Failure | None:
    """Why this process cannot write where it must; None where it can."""
    for folder in dict.fromkeys((options.cache_dir, own_folder(options))):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            return _unusable(f"{folder} cannot be written: {error.strerror}", error)
    try:
        tempfile.gettempdir()
    except OSError as error:
        return _unusable(f"There is no folder for temporary files: {error.strerror}", error)
    return None


def _unusable(words: str, error: OSError) -> Failure:
    groups = ", ".join(str(group) for group in sorted({os.getgid(), *os.getgroups()}))
    reason = "CacheTooSmall" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "CacheUnusable"
    return failure(reason, f"{words} (user {os.getuid()}, groups {groups}).", Phase.RESOLVING)


def prepare(environ: MutableMapping[str, str], own: Path) -> None:
    """Set what the engine needs, which writes below `own`. `HF_ENDPOINT`, `HF_TOKEN` and the like are left as they are.

    Raises OSError.
    """
    for name, folder in _FOLDERS.items():
        path = own / folder
        path.mkdir(parents=True, exist_ok=True)
        _replace(environ, name, str(path))
    for name, value in _FIXED.items():
        _replace(environ, name, value)
    for name, value in _DEFAULTS.items():
        environ.setdefault(name, value)
    if _is_service_link(environ):
        del environ["VLLM_PORT"]
    for name in ("HF_ENDPOINT", "HF_TOKEN"):
        if not environ.get(name, "x"):
            del environ[name]


def _replace(environ: MutableMapping[str, str], name: str, value: str) -> None:
    # Every container has a HOME: no news.
    if name != "HOME" and environ.get(name, value) != value:
        log.warning("%s of the environment is not used: %s", name, REPLACED[name])
    environ[name] = value
