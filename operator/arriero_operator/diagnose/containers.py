"""Why a container does not run, from its waiting state and its ends."""

import re
from dataclasses import replace
from typing import Final

from arriero_api.contract import ContractError, Failure
from arriero_operator.diagnose.failures import failure
from arriero_operator.pods.facts import Ended, PodFacts

_PULL: Final = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable")
_CONFIG: Final = ("CreateContainerConfigError",)
_START: Final = (
    "CreateContainerError",
    "RunContainerError",
    "ContainerCannotRun",
    "StartError",
    "PreCreateHookError",
    "PostStartHookError",
)
_BACK_OFF: Final = re.compile(r'^Back-off pulling image "[^"]*": (ErrImagePull: )?')
_KILLED: Final = 137


def waiting(pod: PodFacts) -> Failure | None:
    """The kubelet cannot bring the container to run."""
    return _named(pod, _waiting(pod))


def _waiting(pod: PodFacts) -> Failure | None:
    words = pod.waiting_message or pod.waiting
    if pod.waiting in _PULL:
        return failure("ImagePullFailed", _pull_words(pod))
    if pod.waiting in _CONFIG:
        return failure("ContainerConfigInvalid", words)
    if pod.waiting in _START:
        return failure("ContainerStartFailed", words)
    return None


def _pull_words(pod: PodFacts) -> str:
    """The kubelet's words, the same whether it tries or waits, with the image that they are about."""
    words = _BACK_OFF.sub("", pod.waiting_message) or pod.waiting
    return words if not pod.image or pod.image in words else f"image {pod.image}: {words}"


def ended(pod: PodFacts) -> Failure | None:
    """The container has ended; a previous end counts until the container has been ready again."""
    if pod.ended is not None:
        return _named(pod, explain(pod.ended))
    if pod.last_ended is not None and (pod.container or not pod.was_ready_since_start):
        return _named(pod, explain(pod.last_ended))
    return None


def _named(pod: PodFacts, found: Failure | None) -> Failure | None:
    """The same of another container than the runtime: with its name, and where it is mended."""
    if found is None or not pod.container:
        return found
    remedy = f"Correct the container {pod.container!r} where it comes from: a podTemplate, or what injects it."
    return replace(found, message=f"container {pod.container!r}: {found.message}", remedy=remedy)


def explain(end: Ended) -> Failure | None:
    """The failure that an end stands for, None for a clean stop.

    The kernel's word goes first: it kills the whole container, so that nothing of the runtime's own is left or right.
    """
    if end.reason == "OOMKilled":
        return failure("OOMKilled", "the kernel ended the container for its memory")
    if end.message.strip():
        try:
            return Failure.from_json(end.message)
        except ContractError:
            pass
    if end.reason in _START:
        return failure("ContainerStartFailed", end.message.strip() or end.reason)
    if end.exit_code == 0:
        return None
    words = f"the container ended with exit code {end.exit_code}"
    if end.exit_code == _KILLED:
        words += " (killed)"
    last = end.message.strip().splitlines()[-1:]
    return failure("RuntimeExited", ": ".join([words, *last]))
