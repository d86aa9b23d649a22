"""How long an engine has held requests without making a step. Standard library only: server and supervisor ask it."""


class Stuck:
    """Adds up the time between reports in which the engine held requests; only a step takes it back to zero.

    So neither a client that gives up nor the end of a request's time hides a hung engine. Times are in seconds of
    the caller's clock.
    """

    def __init__(self, now: float) -> None:
        self._heard_at = now
        self._held = 0
        self._steps = 0
        self._added_up = 0.0

    def hear(self, now: float, held: int, steps: int) -> None:
        """A report: the requests that the engine holds, and the steps that it has made since its start."""
        if steps != self._steps:
            self._added_up = 0.0
        elif held and self._held:
            self._added_up += now - self._heard_at
        self._heard_at, self._held, self._steps = now, held, steps

    def seconds(self, now: float) -> float:
        """So far, the time since the last report included where requests are held."""
        return self._added_up + (now - self._heard_at if self._held else 0.0)
