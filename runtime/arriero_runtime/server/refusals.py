"""Why a registration is refused, as an answer to the client that asks for it."""

from typing import Final

from arriero_api import reasons
from arriero_api.contract import Failure, Phase
from arriero_runtime.server.answers import RETRY_SECONDS, Refusal, kind_of

_LATER: Final = {"retry-after": str(RETRY_SECONDS)}


class RegistrationRefused(Exception):
    """`refusal` is the answer."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def _refused(status: int, words: str, *, kind: str = "", later: bool = False, **extra: str) -> RegistrationRefused:
    return RegistrationRefused(Refusal(status, kind or kind_of(status), words, _LATER if later else {}, extra))


def invalid(field: str, words: str) -> RegistrationRefused:
    """A body that cannot be used."""
    return _refused(400, f"Invalid value: {field}: {words}", param=field)


def occupied(wanted: str, there: str, phase: Phase) -> RegistrationRefused:
    """Another model has the place."""
    state = "is loaded" if phase is Phase.READY else "is being loaded"
    words = (
        f"'{wanted}' cannot be registered: '{there}' {state}, and one model is served at a time. Unregister it first."
    )
    return _refused(409, words)


def too_many(most: int) -> RegistrationRefused:
    """The model has as many names as one may have."""
    return _refused(409, f"The model has {most} names, and may have no more. Unregister one first.")


def unknown(name: str) -> RegistrationRefused:
    """Nobody has registered it."""
    return _refused(400, f"Invalid value: model '{name}' is not registered.", param="model")


def unlike(name: str, fault: str) -> RegistrationRefused:
    """The model is not what the registration says of it."""
    return _refused(400, f"Invalid value: '{name}' was not registered: {fault}")


def withdrawn() -> RegistrationRefused:
    """Somebody has unregistered the name while its model was loading."""
    return _refused(409, "The model was unregistered while it was being loaded.")


def stopping() -> RegistrationRefused:
    """The server ends."""
    return _refused(503, "The server is stopping.", later=True)


def failed(found: Failure) -> RegistrationRefused:
    """The model could not be loaded: 400 where trying again cannot mend that, 503 where it may. The error's type is the
    reason of the catalogue."""
    words = f"{found.reason}: {found.message} {found.remedy}"
    if reasons.reason(found.reason).permanent:
        return _refused(400, words, kind=found.reason)
    return _refused(503, words, kind=found.reason, later=True)
