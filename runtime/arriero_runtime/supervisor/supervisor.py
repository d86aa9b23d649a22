"""The supervisor's one loop: from the start of the server to the explained end of the container."""

import selectors
import signal
import time
from collections.abc import Callable

from arriero_api.contract import Failure
from arriero_runtime.cli import ServeOptions
from arriero_runtime.messages import Drain, GiveUp
from arriero_runtime.supervisor import tree
from arriero_runtime.supervisor.child import Child
from arriero_runtime.supervisor.settings import Settings
from arriero_runtime.supervisor.signals import Signals
from arriero_runtime.supervisor.state import State
from arriero_runtime.supervisor.watch import complaint, silent


class Supervisor:
    """Watches one server. `on_ready` is called once, when it first serves."""

    def __init__(
        self,
        options: ServeOptions,
        settings: Settings,
        signals: Signals,
        state: State,
        say: Callable[[str], None],
        on_ready: Callable[[], None],
    ) -> None:
        self._options = options
        self._settings = settings
        self._signals = signals
        self._state = state
        self._say = say
        self._on_ready = on_ready
        self._deadline: float | None = None
        self.complaint: Failure | None = None

    @property
    def patience_ends(self) -> float | None:
        """By the monotonic clock: after it the supervisor itself may be killed; None where nobody has asked to stop."""
        if self._deadline is None or not self._state.stopping:
            return None
        return self._deadline + self._settings.margin

    def watch(self, child: Child) -> None:
        """Returns once the server has ended or must be killed; reaps all the time."""
        self._state.alive = True
        with selectors.DefaultSelector() as selector:
            selector.register(self._signals, selectors.EVENT_READ)
            selector.register(child.channel, selectors.EVENT_READ)
            while self._goes_on(child):
                selector.select(self._settings.tick)
                self._signals.clear()
                if not self._listen(child) and child.channel in selector.get_map():
                    selector.unregister(child.channel)
        self._state.alive = False

    def _goes_on(self, child: Child) -> bool:
        child.note(tree.reap())
        if child.ended:
            self._listen(child)
            return False
        if self._signals.stop_requested and not self._state.stopping:
            self._begin_stop(child)
        if self._deadline is not None:
            return self._before_deadline()
        if self._state.failed:
            self._deadline = time.monotonic() + self._settings.last_words
            return True
        self.complaint = complaint(self._state, self._settings)
        return self.complaint is None or self._complain(self.complaint, child)

    def _complain(self, found: Failure, child: Child) -> bool:
        """Whether the server is still to be waited for: one that hears tells its clients, whose streams would otherwise
        break off without a word."""
        hears = not silent(self._state, self._settings)
        self._state.failure = found
        self._say(f"{found.reason}: {found.message}")
        if not hears or not child.channel.send(GiveUp(found)):
            return False
        self._deadline = time.monotonic() + self._settings.last_words
        return True

    def _before_deadline(self) -> bool:
        assert self._deadline is not None
        if time.monotonic() < self._deadline:
            return True
        self._say("the server has not ended in time and is killed")
        return False

    def _begin_stop(self, child: Child) -> None:
        """Drain a server that serves; one that still starts has nothing to finish and may not even hear."""
        serving = self._state.was_ready and self._state.failed is None and self.complaint is None
        self._state.stopping = True
        if serving and child.channel.send(Drain()):
            wait = self._options.endpoint_delay_seconds + self._options.drain_seconds + self._settings.stop_engine
            self._say("stopping: requests get their time to end")
        else:
            wait = self._settings.stop_starting
            child.signal_group(signal.SIGTERM)
            self._say("stopping: nothing is served yet")
        self._deadline = time.monotonic() + wait

    def _listen(self, child: Child) -> bool:
        messages, there = child.channel.poll()
        for message in messages:
            was_ready = self._state.was_ready
            self._state.hear(message)
            if self._state.was_ready and not was_ready:
                self._on_ready()
        return there
