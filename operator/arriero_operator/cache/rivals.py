"""Which models of a namespace ask for a name or hold it: looked up, not searched for, however many models there are."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from arriero_operator.decide.claims import claim
from arriero_operator.kube.protocol import Object

_NONE: Final[frozenset[str]] = frozenset()


class Rivals:
    """Names of models by the served names that they claim."""

    def __init__(self) -> None:
        self._models: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._claimed: dict[tuple[str, str], frozenset[str]] = {}

    def put(self, obj: Object) -> None:
        """The InferenceModel as it is now."""
        found = claim(obj) if "model" in (obj.get("spec") or {}) else None
        self._set(obj["metadata"]["namespace"], obj["metadata"]["name"], found.wanted | found.held if found else _NONE)

    def drop(self, namespace: str, model: str) -> None:
        """The model is gone."""
        self._set(namespace, model, _NONE)

    def of(self, namespace: str, names: Iterable[str]) -> list[str]:
        """The models that claim one of these served names, sorted."""
        return sorted({model for name in names for model in self._models.get((namespace, name), ())})

    def _set(self, namespace: str, model: str, names: frozenset[str]) -> None:
        before = self._claimed.pop((namespace, model), _NONE)
        if names:
            self._claimed[(namespace, model)] = names
        for name in before - names:
            self._models[(namespace, name)].discard(model)
            if not self._models[(namespace, name)]:
                del self._models[(namespace, name)]
        for name in names - before:
            self._models[(namespace, name)].add(model)
