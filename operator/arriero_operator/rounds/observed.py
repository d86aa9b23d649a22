"""A model as a round found it."""

from collections.abc import Sequence
from dataclasses import dataclass

from arriero_api.types import Spec
from arriero_operator.kube.protocol import Object
from arriero_operator.pods.facts import PodFacts
from arriero_operator.render.owner import Owner
from arriero_operator.work.keys import Key


@dataclass(frozen=True, slots=True)
class Observed:
    """A model that exists, as it was found. `misread`: what of its spec this version does not understand, in words."""

    key: Key
    model: Object
    spec: Spec
    owner: Owner
    stem: str
    pods: Sequence[PodFacts]
    misread: str = ""

    @property
    def before(self) -> Object:
        """The status that stands."""
        return self.model.get("status") or {}
