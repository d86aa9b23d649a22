"""What the API server would not do for a model: how it is told, when, and what goes on all the same."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from arriero_api.contract import Failure
from arriero_operator.applying.problems import ChildProblem, Leaving
from arriero_operator.diagnose.refusals import DENIED, hindered
from arriero_operator.kube.errors import Forbidden, KubeError
from arriero_operator.rounds.round import Outcome
from arriero_operator.work.keys import Key

PATIENCE: Final = 15.0
"""Seconds for which nothing is told of a model that is Ready: the API server fails for moments, and nobody loses it."""


@dataclass(slots=True)
class Obstacles:
    """Those of one attempt to bring all children into their wanted state; of each kind the first is told."""

    refused: Failure | None = None
    hindered: Failure | None = None
    error: KubeError | None = None
    leaving: bool = False
    """A child is on its way out, beside which the rest was done."""
    _retry_after: list[float] = field(default_factory=list)

    async def beside(self, step: Awaitable[None], *, vital: bool = False) -> bool:
        """Do what the rest does not need; `vital`: it does, and the problem is raised.

        Whether it was done. Raises Leaving where that is not of a child alone.
        """
        try:
            await step
        except Leaving as leaving:
            if vital or not (leaving.held or leaving.namesake):
                raise
            self.leaving = True
            self.hindered = self.hindered or leaving.held
            return False
        except (ChildProblem, KubeError) as problem:
            if vital:
                raise
            self.note(problem)
            return False
        return True

    def note(self, problem: ChildProblem | KubeError) -> None:
        """Remember what is to be told."""
        if isinstance(problem, KubeError):
            self.error = self.error or problem
            self.hindered = self.hindered or words(problem)
            return
        if problem.retry_after is not None:
            self._retry_after.append(problem.retry_after)
        if problem.failure.reason == DENIED:
            self.hindered = self.hindered or problem.failure
        else:
            self.refused = self.refused or problem.failure

    def again(self, seconds: float) -> None:
        """Look again after so many seconds."""
        self._retry_after.append(seconds)

    def outcome(self, refused: Failure | None) -> Outcome:
        """What came of it; `refused` is why the spec is not acted on, which goes first."""
        return Outcome(refused or self.refused, min(self._retry_after, default=None), hindered=self.hindered)


def words(error: KubeError) -> Failure:
    """The reason of a request that failed."""
    return hindered("", error.message, denied=isinstance(error, Forbidden))


class Hesitation:
    """Since when requests for models fail."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[Key, float] = {}

    def tells(self, key: Key, model: Mapping[str, Any]) -> bool:
        """A request for the model has failed: whether that is to be told by now.

        At once, unless its status says that all of this spec is served.
        """
        since = self._since.setdefault(key, self._clock())
        status = model.get("status") or {}
        ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ())
        same = status.get("observedGeneration") == model["metadata"]["generation"]
        return not (ready and same) or self._clock() - since >= PATIENCE

    def passed(self, key: Key) -> None:
        """Nothing fails any more, or the model is gone."""
        self._since.pop(key, None)
