"""What users want of each model, as watches told it last: all else that they tell of a model is its own status."""

from typing import Final

from arriero_operator.decide.plan import retry_of
from arriero_operator.kube.protocol import Object
from arriero_operator.recent import Recent
from arriero_operator.work.keys import Key

_MODELS: Final = 16_384
"""More than one operator serves. Of one that is forgotten each event passes for a change."""


class Wishes:
    """Tells a user's edits, which are acted on at once, from the operator's own writes."""

    def __init__(self) -> None:
        self._known: Recent[Key, tuple[str, int, str]] = Recent(_MODELS)

    def differ(self, key: Key, happened: str | None, model: Object) -> bool:
        """Whether the event is of another spec, annotation or life of the model than the one before. Remembers it.

        `happened` is the event's type, None for an object of a list: one that was not known is no change.
        """
        if happened == "DELETED":
            self._known.drop(key)
            return True
        metadata, known = model["metadata"], self._known.get(key)
        # The API server counts generations with each change of the spec, and when a deletion begins.
        wish = (metadata["uid"], metadata["generation"], retry_of(model))
        self._known.put(key, wish)
        return wish != known and (known is not None or happened is not None)
