"""What a child itself tells of what was last applied to it: an operator that starts anew need not write to know.

Each field manager leaves the digest of its intent in an annotation. Where that is the digest of the present intent,
and the object still has all that the intent says, there is nothing to apply. What a manager said before and does not
say now changes the digest; what others changed shows in the object.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from arriero_api import labels
from arriero_operator import quantity
from arriero_operator.kube.protocol import Object
from arriero_operator.render.children import canonical


def digest(intent: Mapping[str, Any]) -> str:
    """One text for equal intents."""
    return hashlib.sha256(canonical(intent).encode()).hexdigest()[:32]


def mark(manager: str) -> str:
    """The annotation in which `manager` leaves its digest."""
    return f"{labels.DIGEST_PREFIX}{manager}"


def marked(intent: Object, digests: Mapping[str, str]) -> Object:
    """The intent with the digests of these managers."""
    metadata = intent["metadata"]
    annotations = {**metadata.get("annotations", {}), **{mark(manager): text for manager, text in digests.items()}}
    return {**intent, "metadata": {**metadata, "annotations": annotations}}


def holds(live: Mapping[str, Any], manager: str, intent: Mapping[str, Any]) -> bool:
    """Whether the intent is what `manager` last applied, and is in force."""
    found = (live["metadata"].get("annotations") or {}).get(mark(manager))
    return found == digest(intent) and covers(live, intent)


_ABSENT: Final[tuple[Any, ...]] = (None, {}, [], "")
"""What the API server may leave out. A zero may be too; not a False, which is another word than an absent one."""


_LEFT_OUT: Final[Mapping[str, Any]] = {"paused": False}
"""Field → the value with which the API server leaves it out."""


_AMOUNTS: Final = frozenset(("resources", "sizeLimit", "storage", "overhead", "divisor"))
"""Fields below which texts are quantities. Elsewhere "4Ki" is another text than "4096"."""


def covers(live: Any, said: Any, *, amounts: bool = False) -> bool:
    """Whether `live` has all that was `said`; the API server fills in more, and writes quantities in its own way.

    `amounts`: the values are quantities.
    """
    if isinstance(said, Mapping):
        if not isinstance(live, Mapping):
            return live is None and not said
        return all(
            covers(live.get(key, _LEFT_OUT.get(key)), value, amounts=amounts or key in _AMOUNTS)
            for key, value in said.items()
        )
    if isinstance(said, list):
        return _covers_list(live or [], said, amounts)
    if live is None and said == 0 and said is not False:
        return True
    return live == said or (said in _ABSENT and live in _ABSENT) or (amounts and _same_quantity(live, said))


def _covers_list(live: Sequence[Any], said: Sequence[Any], amounts: bool) -> bool:
    """Element by element; lists to which others may add are compared by their elements' names."""
    if len(live) == len(said) and all(covers(*pair, amounts=amounts) for pair in zip(live, said, strict=True)):
        return True
    named = {one.get("name"): one for one in live if isinstance(one, Mapping)}
    return bool(said) and all(
        isinstance(one, Mapping) and "name" in one and covers(named.get(one["name"]), one, amounts=amounts)
        for one in said
    )


def _same_quantity(live: Any, said: Any) -> bool:
    try:
        return quantity.parse(str(live)) == quantity.parse(str(said))
    except ValueError:
        return False
