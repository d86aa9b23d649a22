"""Keys that wait, by when they are due. Times are seconds of the event loop's clock."""

import heapq
import itertools
import math
from collections.abc import Iterator
from typing import Final

from arriero_operator.work.keys import Key
from arriero_operator.work.slots import Slots

OVERTAKEN: Final = 60.0
"""Seconds: changes that come so much later than a routine look do not overtake it, or it would be put off for ever."""


class Waiting:
    """Keys that wait for their time and for a slot."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._changes, self._routine, self._slow = Line(), Line(), Line()

    def put(self, key: Key, due: float, routine: bool) -> bool:
        """Wait until `due`, or for an earlier time that was asked for before: then False."""
        line = self._routine if routine else self._changes
        return (self._slow if self._slots.is_slow(key) else line).put(key, due)

    def take(self, now: float) -> Key | None:
        """Who is next of those that are due and may begin; it does not wait any more."""
        due = [found for found in self._firsts() if found[1] <= now]
        if not due:
            return None
        _, _, key = min(due)
        for line in (self._changes, self._routine, self._slow):
            line.drop(key)
        return key

    def soonest(self) -> float | None:
        """When the next one may begin, if none ends before that; None: not before one ends."""
        lines = [(self._slow, -math.inf)] if self._slots.free_for_slow else []
        if (opens := self._slots.opens) is not None:
            lines += [(self._changes, opens), (self._routine, opens)]
        firsts = ((line.first(), opens) for line, opens in lines)
        return min((max(opens, first[0]) for first, opens in firsts if first is not None), default=None)

    def times(self) -> Iterator[tuple[Key, float]]:
        """Each key, maybe twice, and when it is due."""
        for line in (self._changes, self._routine, self._slow):
            yield from line.times()

    def _firsts(self) -> list[tuple[float, float, Key]]:
        """The first of each line of which one may begin: its rank among the others, when it is due, the key."""
        lines = [(self._slow, 0.0)] if self._slots.free_for_slow else []
        if self._slots.free:
            lines += [(self._changes, 0.0), (self._routine, OVERTAKEN)]
        firsts = ((line.first(), handicap) for line, handicap in lines)
        return [(first[0] + handicap, *first) for first, handicap in firsts if first is not None]


class Line:
    """Each key waits once, for the earliest time that was asked for."""

    def __init__(self) -> None:
        self._due: dict[Key, float] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._order = itertools.count()

    def put(self, key: Key, due: float) -> bool:
        """Wait until `due`; nothing changes where the key waits for an earlier time: then False."""
        if self._due.get(key, float("inf")) <= due:
            return False
        self._due[key] = due
        heapq.heappush(self._heap, (due, next(self._order), key))
        return True

    def drop(self, key: Key) -> None:
        """The key does not wait any more."""
        self._due.pop(key, None)

    def first(self) -> tuple[float, Key] | None:
        """Who is due first, and when; of several at the same time the one that came first."""
        while self._heap:
            due, _, key = self._heap[0]
            if self._due.get(key) == due:
                return due, key
            heapq.heappop(self._heap)  # overtaken by an earlier time, or dropped
        return None

    def times(self) -> Iterator[tuple[Key, float]]:
        """Each key, and when it is due."""
        return iter(self._due.items())
