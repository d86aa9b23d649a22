"""What follows from the objects that a spec refers to."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from arriero_api.contract import Failure
from arriero_operator.diagnose.failures import failure
from arriero_operator.render.references import CLAIM, Reference
from arriero_operator.revisions.lineage import Seen

ONE_NODE: Final = frozenset({"ReadWriteOnce", "ReadWriteOncePod"})
"""Access modes of claims that pods of one node only, or one pod, may mount."""


@dataclass(frozen=True, slots=True)
class Found:
    """One reference and what was found. `content` is a text that differs where the content does, empty for none that
    counts; `modes` are a claim's access modes; `again` is when to look again for what is missing (seconds)."""

    reference: Reference
    there: bool
    content: str = ""
    modes: Sequence[str] = ()
    again: float | None = None


def judge(found: Iterable[Found], replicas: int) -> Seen:
    """All of it together."""
    found = list(found)
    missing = [one for one in found if not one.there and not one.reference.optional]
    contents = [f"{one.reference} {one.content}" for one in found if one.content]
    waits = [one.again for one in missing if one.again is not None]
    return Seen(
        contents=hashlib.sha256("\n".join(contents).encode()).hexdigest()[:16] if contents else "",
        missing=tuple(one.reference.told for one in missing),
        refused=_shared(found, replicas),
        retry_after=min(waits, default=None),
    )


def one_node(modes: Iterable[str]) -> bool:
    """Whether a claim of these modes serves one node or pod only."""
    return bool(modes) and set(modes) <= ONE_NODE


def _shared(found: Iterable[Found], replicas: int) -> Failure | None:
    if replicas <= 1:
        return None
    for one in found:
        if one.reference.kind == CLAIM and one_node(one.modes):
            modes = ", ".join(one.modes)
            words = f"spec.replicas is {replicas}, and {one.reference.told} may be mounted by one node only ({modes})"
            return failure("ClaimNotShareable", words)
    return None
