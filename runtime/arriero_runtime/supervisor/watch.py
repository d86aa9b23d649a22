"""When a server is to be ended because it no longer works."""

from arriero_api.contract import Failure, Phase
from arriero_runtime.diagnosis import make_failure
from arriero_runtime.supervisor.settings import Settings
from arriero_runtime.supervisor.state import State


def complaint(state: State, settings: Settings) -> Failure | None:
    """Why the server must be ended now, if it must."""
    if state.phase is Phase.READY and state.stuck_seconds() > settings.hang:
        return make_failure(
            "EngineHung",
            f"The engine made no step for {state.stuck_seconds():.0f} s "
            f"with requests in it ({state.heartbeat.engine_requests} now)",
        )
    if silent(state, settings):
        return make_failure(
            "EngineHung" if state.was_ready else "EngineFailed",
            f"The server said nothing for {state.silent_seconds():.0f} s in phase {state.phase}",
        )
    return None


def silent(state: State, settings: Settings) -> bool:
    """Whether the server has said nothing for so long that it hears nothing either."""
    return state.silent_seconds() > settings.silence[state.phase]
