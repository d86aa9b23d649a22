"""Failures of the catalogue, and how they are put into words."""

from typing import Final

from arriero_api.contract import Failure
from arriero_api.reasons import REASONS, Reason
from arriero_api.scrub import scrub

MESSAGE_LIMIT: Final = 1024

_UNKNOWN: Final = "EngineFailed"


def failure(reason: str, message: str, remedy: str = "") -> Failure:
    """A failure, with the catalogue's remedy where none is given. Raises KeyError for a reason outside of it."""
    return Failure(reason, " ".join(message.split()), remedy or REASONS[reason].remedy)


def catalogued(found: Failure) -> Failure:
    """The same failure with a reason of the catalogue: a newer runtime may know more of them."""
    if found.reason in REASONS:
        return found
    return Failure(_UNKNOWN, f"{found.reason}: {found.message}", found.remedy, found.phase, found.details)


def known(reason: str) -> Reason:
    """The catalogue's entry; that of an unknown failure for a reason outside of it."""
    return REASONS.get(reason, REASONS[_UNKNOWN])


def sentence(found: Failure) -> str:
    """What happened and what to do, in at most 1024 characters: the remedy is kept, what happened is cut.

    Whoever said it, the kubelet, a policy or a runtime, no secret of theirs goes on into the resource.
    """
    remedy = _sentence(found.remedy or known(found.reason).remedy)[: MESSAGE_LIMIT // 2]
    what = _sentence(scrub(" ".join(found.message.split())) or known(found.reason).meaning)
    return f"{bounded(what, MESSAGE_LIMIT - len(remedy) - 1)} {remedy}".rstrip()


def bounded(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """`text`, cut with an ellipsis where it is longer than `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _sentence(text: str) -> str:
    text = text.strip()
    if not text:
        return ""
    first = text.split()[0]
    if first.isalpha() and first.islower():  # others, such as vLLM, sharedMemory or --dtype, are names
        text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?…" else f"{text}."
