"""The status of an InferenceModel is written when it says something new (`decide.report`)."""

import time
from collections.abc import Callable
from typing import Any

from arriero_api import labels
from arriero_operator.decide.report import same, steady
from arriero_operator.kube.errors import NotFound
from arriero_operator.kube.protocol import MODELS, Kube, Object
from arriero_operator.work.keys import Key

Json = dict[str, Any]


class Reporter:
    """Writes statuses; remembers when it last wrote progress."""

    def __init__(self, kube: Kube, clock: Callable[[], float] = time.monotonic) -> None:
        self._kube = kube
        self._clock = clock
        self._wrote: dict[Key, float] = {}

    async def report(self, model: Object, status: Json) -> Json | None:
        """Write `status` where it differs from the one that stands; what was written, or None. Raises KubeError."""
        metadata = model["metadata"]
        key = (metadata["namespace"], metadata["name"])
        before = model.get("status") or {}
        status = steady(status, before, self._clock() - self._wrote.get(key, float("-inf")))
        if same(status, before):
            return None
        intent = {
            "apiVersion": labels.API_VERSION,
            "kind": labels.KIND,
            "metadata": {"name": key[1], "namespace": key[0], "uid": metadata["uid"]},
            "status": status,
        }
        try:
            await self._kube.apply(MODELS, intent, manager=labels.STATUS_MANAGER, subresource="status")
        except NotFound:
            return None  # deleted meanwhile: the event of that is on its way
        self._wrote[key] = self._clock()
        return status

    def forget(self, key: Key) -> None:
        """The model is gone."""
        self._wrote.pop(key, None)
