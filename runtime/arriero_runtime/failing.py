"""A start that cannot go on, as an exception that carries the failure to report."""

from collections.abc import Mapping
from typing import Final

from arriero_api.contract import Failure, Phase
from arriero_runtime import hiding, wording

CORRECT_URI: Final = "Correct spec.model.uri."
"""The remedy for what is not there, where nothing is hidden from those without credentials, as a hub's repositories
are."""


class StartError(Exception):
    """The model cannot be served; `failure` is what people get to read."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.reason}: {failure.message}")
        self.failure = failure


def failure(
    reason: str, message: str, phase: Phase, *, remedy: str = "", details: Mapping[str, str | int] | None = None
) -> Failure:
    """A failure of the catalogue: its remedy where none is given; no secret that this process knows is in it. Raises
    KeyError for an unknown reason."""
    known = wording.remedy(reason)
    words, advice = wording.fit(message), wording.fit(remedy) or known
    return hiding.failure(Failure(reason, words, advice, phase, details or {}))


def start_error(
    reason: str, message: str, phase: Phase, *, remedy: str = "", details: Mapping[str, str | int] | None = None
) -> StartError:
    """As `failure`, ready to raise."""
    return StartError(failure(reason, message, phase, remedy=remedy, details=details))
