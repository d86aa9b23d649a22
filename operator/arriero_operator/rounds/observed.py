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

    @property
    def wanted(self) -> str:
        """The revision that the status says is wanted, by hash; empty: none, as for the others."""
        return self._revision("wanted")

    @property
    def serving(self) -> str:
        """The one that it says is serving."""
        return self._revision("serving")

    @property
    def last_good(self) -> str:
        """The one that it says was good last."""
        return self._revision("lastGood")

    def _revision(self, name: str) -> str:
        return str((self.before.get("model") or {}).get(name) or "")
