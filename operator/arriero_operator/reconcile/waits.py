"""When a model is looked at again without being told. At rest it is not."""

from typing import Final

from arriero_operator.decide import registered
from arriero_operator.observing.curiosity import proof, unproven
from arriero_operator.rounds.round import Round

WITHHELD: Final = 5.0
"""Seconds between looks at a name that another model has."""


def requeue_after(now: Round, asked: float | None) -> float | None:
    """Seconds until the next look; None at rest, where the next change tells.

    `asked` is when the next runtime is to be asked.
    """
    # Pods that keep silent are asked more and more rarely, and `asked` says when.
    proofs = (proof(now, pod) for pod in unproven(now) if pod.name not in now.unreachable)
    held = None if now.hold is None else (now.hold.until - now.moment).total_seconds()
    return soonest(asked, now.outcome.retry_after, now.method.look_after, untold(now), held, *proofs)


def untold(now: Round) -> float | None:
    """Seconds until the status may have to say something else though no event tells: also of a paused model."""
    return soonest(_names_end(now), now.plan.retry_after, WITHHELD if now.plan.lost else None)


def soonest(*waits: float | None) -> float | None:
    """The shortest of the waits that there are."""
    return min((one for one in waits if one is not None), default=None)


def _names_end(now: Round) -> float | None:
    """Seconds until the time of the next name that leaves is over."""
    ends = (registered.ends(name, now.moment) for name in now.observed.before.get("names") or ())
    return soonest(*((end - now.moment).total_seconds() for end in ends if end is not None))
