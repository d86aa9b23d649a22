"""Whether the API server takes pods with a podTemplate laid over them, asked before any of their objects is made."""

import time
from collections.abc import Callable
from typing import Final

from arriero_api.contract import Failure
from arriero_operator.diagnose.failures import failure
from arriero_operator.kube.errors import Forbidden, Invalid
from arriero_operator.kube.protocol import DEPLOYMENTS, Kube
from arriero_operator.pods.written import Written
from arriero_operator.render import children
from arriero_operator.render.owner import Owner
from arriero_operator.revisions.records import Revision
from arriero_operator.work.keys import Key

AGAIN: Final = 60.0
"""Seconds until a refused template is tried again: policies of the cluster may change."""
_SUFFIX: Final = "-trial"


class Trials:
    """Remembers for each model which revision was refused, and why."""

    def __init__(self, kube: Kube, clock: Callable[[], float] = time.monotonic) -> None:
        self._kube = kube
        self._clock = clock
        self._refused: dict[Key, tuple[str, float, Failure]] = {}

    async def refusal(self, owner: Owner, revision: Revision, written: Written) -> Failure | None:
        """Why the API server refuses the pods, by the fields that are `written`; None where it takes them.

        Nothing is changed. Raises KubeError.
        """
        key = (owner.namespace, owner.name)
        known = self._refused.get(key)
        if known is not None and known[0] == revision.hash and self._clock() < known[1] + AGAIN:
            return known[2]
        self._refused.pop(key, None)
        whole = children.deployment_whole(owner, 1, {}, revision.template)
        # Under a name of its own: it is not to be compared with what is there.
        name = f"{whole['metadata']['name']}{_SUFFIX}"
        whole["metadata"] = {"name": name, "namespace": owner.namespace}
        try:
            await self._kube.try_create(DEPLOYMENTS, whole)
        except Invalid as error:
            found = failure("PodTemplateInvalid", _words(written.words(error.message), name))
            self._refused[key] = (revision.hash, self._clock(), found)
            return found
        except Forbidden:
            return None  # it is told when the Deployment is made
        return None

    def forget(self, key: Key) -> None:
        """The model is gone."""
        self._refused.pop(key, None)


def _words(message: str, name: str) -> str:
    """The API server's own, without what concerns the trial alone."""
    noise = (f'Deployment.apps "{name}" is invalid: ', 'Deployment in version "v1" cannot be handled as a Deployment: ')
    for one in noise:
        message = message.replace(one, "")
    return message
