"""Where the checkout and the user's cache are."""

from pathlib import Path

from tests.cluster.folders import cache_home

__all__ = ["CHECKOUT", "cache"]

CHECKOUT = Path(__file__).resolve().parents[3]


def cache(*parts: str) -> Path:
    """A folder under the user's cache, made if it is not there."""
    folder = cache_home().joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
