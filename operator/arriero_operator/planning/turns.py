"""A changed profile, or a changed image of one, reaches one model at a time, and no further one after the first that
fails.

What models are moved to is an image, or the mark of a profile. Who is under way is read from the resources, so that it
outlives the operator; who waits is remembered.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

from arriero_api.types import Spec
from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Settings
from arriero_operator.decide.plan import wanted_before
from arriero_operator.kube.protocol import MODELS, REVISIONS, Object
from arriero_operator.render import names
from arriero_operator.render.inputs import pod_inputs
from arriero_operator.revisions.lineage import lineage_of
from arriero_operator.work.keys import Key

_ANY: Final = Spec.model_validate({"model": {"uri": "hf://any/model"}})


class Turns:
    """Whose turn it is, for each aim. `changed` is called with the key of the model that is next."""

    def __init__(self, cache: Cache, settings: Settings, changed: Callable[[Key], None]) -> None:
        self._cache = cache
        self._settings = settings
        self._changed = changed
        self._turn: dict[str, Key] = {}
        self._waiting: defaultdict[str, set[Key]] = defaultdict(set)
        profiles = settings.profiles.items()
        hub = settings.hub_endpoint
        self._marks = {name: f"profile {pod_inputs(_ANY, profile, hub).hash}" for name, profile in profiles}

    def mark(self, profile: str) -> str:
        """The aim that stands for a profile as it is now; no image is called so."""
        return self._marks[profile]

    def may(self, key: Key, aim: str) -> bool:
        """Whether the model, whose pods are of something else, is to be moved to this now."""
        model = self._cache.get(MODELS, *key)
        if model is None or not self._fit(key, model):
            if self._turn.get(aim) == key:
                del self._turn[aim]
                self._next(aim)
            return False
        if self._holder(aim) not in (None, key):
            self._waiting[aim].add(key)
            return False
        self._turn[aim] = key
        self._waiting[aim].discard(key)
        return True

    def passed(self, key: Key) -> None:
        """The model does not wait for anything, or is gone: the next one's turn comes if this one's is over."""
        for waiting in self._waiting.values():
            waiting.discard(key)
        for aim in [aim for aim, holder in self._turn.items() if holder == key]:
            if not self._open(key, aim, begun=False):
                del self._turn[aim]
                self._next(aim)

    def _next(self, aim: str) -> None:
        for key in sorted(self._waiting[aim]):
            self._waiting[aim].discard(key)
            model = self._cache.get(MODELS, *key)
            if model is not None and self._fit(key, model):
                self._turn[aim] = key
                self._changed(key)
                return

    def _holder(self, aim: str) -> Key | None:
        held = self._turn.get(aim)
        if held is not None and self._open(held, aim, begun=True):
            return held
        found = (_key(model) for model in self._cache.models())
        holder = next((key for key in found if self._open(key, aim, begun=False)), None)
        if holder is not None:
            self._turn[aim] = holder
        return holder

    def _open(self, key: Key, aim: str, *, begun: bool) -> bool:
        """Whether the model is on its way there, or has failed. `begun`: it was told to go."""
        model = self._cache.get(MODELS, *key)
        if model is None or model["spec"].get("paused") or not self._is_of(aim, model):
            return False
        if _condition(model, "Accepted") == "False":
            return False
        if aim in self._moved(key, model):
            return not (_condition(model, "UpToDate") == "True" and _condition(model, "Ready") == "True")
        return begun

    def _is_of(self, aim: str, model: Object) -> bool:
        """Whether that is what the model would be moved to now."""
        profile = self._settings.profile(model["spec"].get("profile"))
        if profile is None:
            return False
        return aim == self._marks[profile.name] or (aim == profile.image and not model["spec"].get("image"))

    def _fit(self, key: Key, model: Object) -> bool:
        """Only a model that is well can tell whether its aim is good, or one that an earlier one has failed."""
        return _condition(model, "Ready") == "True" or bool(self._moved(key, model))

    def _moved(self, key: Key, model: Object) -> list[str]:
        """What the model was moved to with the wanted revision; mostly nothing."""
        wanted = wanted_before(model)
        record = self._cache.get(REVISIONS, key[0], names.revisioned(key[1], wanted)) if wanted else None
        line = lineage_of(record) if record is not None else None
        return [aim for aim in (line.image, line.profile) if aim] if line is not None else []


def _key(model: Object) -> Key:
    return (model["metadata"]["namespace"], model["metadata"]["name"])


def _condition(model: Object, kind: str) -> str:
    conditions: list[dict[str, Any]] = (model.get("status") or {}).get("conditions") or []
    return next((str(one["status"]) for one in conditions if one["type"] == kind), "")
