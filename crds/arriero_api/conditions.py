"""The conditions of an InferenceModel, in the order in which the status has them."""

from typing import Final

CONDITIONS: Final[dict[str, str]] = {
    "Accepted": "The resource can be acted on. While it is False nothing is changed: pods that serve go on serving.",
    "Scheduled": "All wanted pods have a node.",
    "EngineReady": "All wanted replicas have an engine that answers.",
    "NamesRegistered": "All names and adapters that the spec asks for are served by all ready pods.",
    "Available": "Some replica answers, of whatever revision. Alert on this one.",
    "UpToDate": "All pods are of the wanted revision, of the contents that it refers to, and of the profile's image.",
    "Ready": "All that the spec asks for is served. Wait for this one: kubectl wait --for=condition=Ready im/NAME.",
    "Reconciling": "Only there while True: what Ready lacks is on its way or is tried again.",
    "Stalled": "Only there while True: what Ready lacks waits for somebody to change something.",
}
"""Type → meaning."""
