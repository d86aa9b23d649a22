"""The secrets that this process knows, and its words without them."""

import os
from collections.abc import Iterable
from typing import Final

from arriero_api.contract import Failure
from arriero_api.scrub import SHORTEST, scrub, scrubbed, secret_values

_known: Final[set[str]] = set()


def learn(values: Iterable[str]) -> None:
    """From now on these are hidden, beside the secret variables of the environment. Short ones are left alone: they
    would blank out ordinary words."""
    _known.update(value for value in values if len(value) >= SHORTEST)


def text(words: str) -> str:
    """`words` as they may be logged and told."""
    return scrub(words, _secrets())


def failure(found: Failure) -> Failure:
    """`found` with message, remedy and details as they may be told."""
    return scrubbed(found, _secrets())


def _secrets() -> frozenset[str]:
    return secret_values(os.environ) | _known
