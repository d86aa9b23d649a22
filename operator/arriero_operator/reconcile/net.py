"""The net below the reconcile: a model that the operator cannot work on says so, whatever the error is."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from arriero_api.contract import Failure
from arriero_operator.applying.obstacles import Hesitation
from arriero_operator.cache.store import Cache
from arriero_operator.decide.faulted import faulted
from arriero_operator.diagnose.failures import failure
from arriero_operator.kube.errors import KubeError
from arriero_operator.kube.protocol import MODELS, Kube, Object
from arriero_operator.pods import facts
from arriero_operator.reconcile.report import Reporter
from arriero_operator.work.keys import Key
from arriero_operator.work.result import Fault, Reconcile, Result, TerminalError

_log = logging.getLogger(__name__)

FAULT: Final = "OperatorFault"
NOT_UNDERSTOOD: Final = "SpecNotUnderstood"


class Net:
    """A reconcile, and below it what tells of the errors that it does not tell of itself.

    The message has the class of the error and not its words, which may be of anything: they are in the log.
    """

    def __init__(
        self,
        reconcile: Reconcile,
        kube: Kube,
        cache: Cache,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        hesitation: Hesitation | None = None,
    ) -> None:
        self._reconcile = reconcile
        self._cache = cache
        self._reporter = Reporter(kube)
        self._clock = clock
        self._hesitation = hesitation or Hesitation()

    async def __call__(self, key: Key) -> Result:
        """Raises what the reconcile does; Fault in place of an error that nobody foresaw."""
        try:
            result = await self._reconcile(key)
        except KubeError:
            raise  # told by the reconcile
        except TerminalError as error:
            await self._tell(key, failure(NOT_UNDERSTOOD, str(error)))
            raise
        except Exception as error:
            words = f"{type(error).__name__} in the operator, while it worked on generation {self._generation(key)}"
            await self._tell(key, failure(FAULT, words))
            raise Fault(f"{type(error).__name__}: {error}") from error
        self._hesitation.passed(key)
        if result.gone:
            self._reporter.forget(key)
        return result

    def _generation(self, key: Key) -> int:
        model = self._cache.get(MODELS, *key)
        return int(model["metadata"]["generation"]) if model is not None else 0

    async def _tell(self, key: Key, why: Failure) -> None:
        """Write it into the status; what keeps that from being written is logged, as the error itself goes first."""
        model = self._cache.get(MODELS, *key)
        if model is None or not self._hesitation.tells(key, model):
            return
        try:
            await self._reporter.report(model, self._status(key, model, why))
        except KubeError as error:
            _log.warning(
                "The status could not be written", extra={"namespace": key[0], "model": key[1], "error": str(error)}
            )

    def _status(self, key: Key, model: Object, why: Failure) -> Object:
        return faulted(
            model.get("status") or {},
            why,
            serves=any(_serves(pod) for pod in self._cache.pods(*key)),
            generation=model["metadata"]["generation"],
            now=facts.timestamp(self._clock()),
        )


def _serves(pod: Object) -> bool:
    """By what Kubernetes says alone: what reads more of a pod may be what has failed."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]
