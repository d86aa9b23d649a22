"""Waiting for a part of the local Kubernetes, for people who have started it."""

from collections.abc import Callable

from tests.cluster.errors import ClusterError
from tests.support.eventually import eventually


def until(check: Callable[[], bool], seconds: float, what: str, every: float = 0.05) -> None:
    """Ask `check` until it holds; raises ClusterError naming `what` after `seconds`."""
    try:
        eventually(check, seconds, every)
    except AssertionError as error:
        raise ClusterError(f"{what}: {error}") from error
