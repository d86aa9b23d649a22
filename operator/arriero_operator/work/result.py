"""What the queue calls, and what it is told by that."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from arriero_operator.work.keys import Key


@dataclass(frozen=True, slots=True)
class Result:
    """A reconcile that succeeded. `requeue_after` is in seconds; None: not before the next change. `gone`: nothing is
    left to be done for what the key stands for."""

    requeue_after: float | None = None
    gone: bool = False


class TerminalError(Exception):
    """Trying again is of no use before the next change."""


class Fault(Exception):
    """A fault of the operator itself, which nobody foresaw; its cause is the error. It is tried again."""


Reconcile = Callable[[Key], Awaitable[Result]]
"""Brings one key's world into its wanted state. Any exception but TerminalError leads to another try.

One with an attribute `retry_after` (seconds) is not followed by another try before that time, whatever changes.
"""
