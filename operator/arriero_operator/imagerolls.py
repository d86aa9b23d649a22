"""A changed image of a profile reaches one model at a time, and no further one after the first that fails.

Who is under way is read from the resources, so that it outlives the operator; who waits is remembered.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from arriero_operator.cache import Cache
from arriero_operator.keys import Key
from arriero_operator.kube.protocol import MODELS, REVISIONS, Object
from arriero_operator.lineage import lineage_of
from arriero_operator.render import names
from arriero_operator.settings import Settings


class ImageRolls:
    """Whose turn it is, for each image. `changed` is called with the key of the model that is next."""

    def __init__(self, cache: Cache, settings: Settings, changed: Callable[[Key], None]) -> None:
        self._cache = cache
        self._settings = settings
        self._changed = changed
        self._turn: dict[str, Key] = {}
        self._waiting: defaultdict[str, set[Key]] = defaultdict(set)

    def may(self, key: Key, image: str) -> bool:
        """Whether the model, whose pods are of another image, is to get this one now."""
        model = self._cache.get(MODELS, *key)
        if model is None or not self._fit(key, model):
            return False
        if self._holder(image) not in (None, key):
            self._waiting[image].add(key)
            return False
        self._turn[image] = key
        self._waiting[image].discard(key)
        return True

    def passed(self, key: Key) -> None:
        """The model does not wait for an image, or is gone: the next one's turn comes if this one's is over."""
        for waiting in self._waiting.values():
            waiting.discard(key)
        for image in [image for image, holder in self._turn.items() if holder == key]:
            if not self._open(key, image, begun=True):
                del self._turn[image]
                self._next(image)

    def _next(self, image: str) -> None:
        for key in sorted(self._waiting[image]):
            self._waiting[image].discard(key)
            model = self._cache.get(MODELS, *key)
            if model is not None and self._fit(key, model):
                self._turn[image] = key
                self._changed(key)
                return

    def _holder(self, image: str) -> Key | None:
        held = self._turn.get(image)
        if held is not None and self._open(held, image, begun=True):
            return held
        found = (_key(model) for model in self._cache.models())
        holder = next((key for key in found if self._open(key, image, begun=False)), None)
        if holder is not None:
            self._turn[image] = holder
        return holder

    def _open(self, key: Key, image: str, *, begun: bool) -> bool:
        """Whether the model is on its way to the image, or has failed there. `begun`: it was told to go."""
        model = self._cache.get(MODELS, *key)
        if model is None or model["spec"].get("paused") or model["spec"].get("image"):
            return False
        profile = self._settings.profiles.get(model["spec"].get("profile") or self._settings.default_profile)
        if profile is None or profile.image != image or _condition(model, "Accepted") == "False":
            return False
        if self._image(key, model) == image:
            return not (_condition(model, "UpToDate") == "True" and _condition(model, "Ready") == "True")
        return begun

    def _fit(self, key: Key, model: Object) -> bool:
        """Only a model that is well can tell whether an image is good, or one that an earlier image has failed."""
        return _condition(model, "Ready") == "True" or bool(self._image(key, model))

    def _image(self, key: Key, model: Object) -> str:
        """The image that was rolled out to the wanted revision; empty where none was."""
        wanted = str(((model.get("status") or {}).get("model") or {}).get("wanted") or "")
        record = self._cache.get(REVISIONS, key[0], names.revisioned(key[1], wanted)) if wanted else None
        line = lineage_of(record) if record is not None else None
        return line.image if line is not None else ""


def _key(model: Object) -> Key:
    return (model["metadata"]["namespace"], model["metadata"]["name"])


def _condition(model: Object, kind: str) -> str:
    conditions: list[dict[str, Any]] = (model.get("status") or {}).get("conditions") or []
    return next((str(one["status"]) for one in conditions if one["type"] == kind), "")
