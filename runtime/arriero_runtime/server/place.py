"""Where adapters go."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from arriero_api import pod
from arriero_runtime.engine.protocol import Engine


@dataclass(frozen=True, slots=True)
class Place:
    """The engine, its model's URI and folder, the cache, and what sources are asked with.

    `past` waits for the end of all requests that are under way. `shared`: other pods use the cache too, so that nothing
    is removed from it.
    """

    engine: Engine
    model_uri: str
    model: Path
    cache_dir: Path
    past: Callable[[], Awaitable[None]]
    credentials_dir: Path = Path(pod.CREDENTIALS_DIR)
    shared: bool = False
