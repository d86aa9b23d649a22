"""A hung engine is told from a busy one, from idle clients, and from clients that give up."""

import pytest

from arriero_api.contract import Phase, RuntimeStatus
from arriero_runtime.messages import Heartbeat, Status
from arriero_runtime.supervisor.settings import Settings
from arriero_runtime.supervisor.state import State
from arriero_runtime.supervisor.watch import complaint

SETTINGS = Settings()


class Watched:
    """The state of a ready server, with a clock that stands between heartbeats."""

    def __init__(self) -> None:
        self.now = 0.0
        self.state = State(SETTINGS.fresh, SETTINGS.stuck, clock=lambda: self.now)
        self.state.alive = True
        self.state.hear(Status(RuntimeStatus(Phase.READY)))

    def beats(self, seconds: int, *, held: int, steps: int = 1, in_flight: int = 1) -> None:
        """So many seconds of heartbeats that all say the same."""
        for _ in range(seconds):
            self.now += 1
            self.state.hear(Heartbeat(0.0, in_flight, 0, steps, held))

    @property
    def reason(self) -> str:
        found = complaint(self.state, SETTINGS)
        return found.reason if found else ""


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_requests_that_the_engine_does_not_hold_say_nothing_about_it(watched: Watched) -> None:
    """A body that never comes, a stream that nobody reads, steady tokenizing."""
    watched.beats(1000, held=0, in_flight=3)
    assert (watched.reason, watched.state.not_ready()) == ("", "")


def test_a_hung_engine_is_soon_out_of_readiness_and_then_ended(watched: Watched) -> None:
    watched.beats(int(SETTINGS.stuck), held=1)
    assert watched.state.not_ready() == ""
    watched.beats(3, held=1)
    assert "no step" in watched.state.not_ready()
    assert watched.reason == ""
    watched.beats(int(SETTINGS.hang - SETTINGS.stuck), held=1)
    assert watched.reason == "EngineHung"


def test_a_hung_engine_is_found_although_every_client_gives_up_after_a_while(watched: Watched) -> None:
    for _ in range(8):
        watched.beats(20, held=1)
        watched.beats(5, held=0, in_flight=0)
    assert watched.reason == "EngineHung"


def test_a_step_proves_a_slow_engine_alive_whenever_it_comes(watched: Watched) -> None:
    for step in range(2, 10):
        watched.beats(100, held=1, steps=step)
        assert watched.reason == ""
    watched.beats(1, held=1, steps=99)
    assert watched.state.not_ready() == ""


def test_an_idle_engine_does_not_grow_stuck(watched: Watched) -> None:
    watched.beats(20, held=1)
    watched.beats(1000, held=0, in_flight=0)
    assert watched.state.stuck_seconds() < 21
