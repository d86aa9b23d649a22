"""Whether a spec can be acted on at all: a chain of checks, the first refusal counts."""

from collections.abc import Callable, Iterable
from typing import Final

from arriero_api import owned_env, owned_flags
from arriero_api.contract import Failure
from arriero_api.types import Engine, EnvVar, Spec
from arriero_operator import quantity
from arriero_operator.diagnose.failures import failure
from arriero_operator.render.inputs import pod_inputs
from arriero_operator.settings import Profile, Settings


def profile_of(spec: Spec, settings: Settings) -> Profile | None:
    """The profile that the spec asks for, or the chart's default; None for one that the chart does not have."""
    return settings.profiles.get(spec.profile or settings.default_profile)


def refusal(spec: Spec, settings: Settings) -> Failure | None:
    """Why the spec cannot be acted on; None when it can."""
    return next((found for check in _CHAIN if (found := check(spec, settings)) is not None), None)


def _profile(spec: Spec, settings: Settings) -> Failure | None:
    if profile_of(spec, settings) is not None:
        return None
    known = ", ".join(sorted(settings.profiles))
    return failure("ProfileUnknown", f"spec.profile: {spec.profile!r} is not one of the chart's profiles: {known}")


def _flags(spec: Spec, settings: Settings) -> Failure | None:
    profile = profile_of(spec, settings)
    found = [f"{where}.args: {flag}: {advice}" for where, engine in _engines(spec, profile) for flag, advice in
             owned_flags.refused(engine.args or ())]  # fmt: skip
    return failure("EngineFlagOwned", "; ".join(found)) if found else None


def _environment(spec: Spec, settings: Settings) -> Failure | None:
    profile = profile_of(spec, settings)
    found = [
        f"{where}.env: {name}: {why}"
        for where, engine in _engines(spec, profile)
        for name, why in _owned(engine.env or ())
    ]
    return failure("EngineEnvOwned", "; ".join(found)) if found else None


def _engines(spec: Spec, profile: Profile | None) -> list[tuple[str, Engine]]:
    """The engine settings with the place where a user finds them."""
    found = [("spec.engine", spec.engine)] if spec.engine else []
    return [*found, (f"profiles.{profile.name}.engine of the chart", profile.engine)] if profile else found


def _owned(variables: Iterable[EnvVar]) -> list[tuple[str, str]]:
    return [(variable.name, why) for variable in variables if (why := owned_env.advice(variable.name))]


def _shared_memory(spec: Spec, settings: Settings) -> Failure | None:
    profile = profile_of(spec, settings)
    if profile is None:
        return None
    inputs = pod_inputs(spec, profile)
    limit = inputs.limits.get("memory")
    if limit is None or quantity.parse(inputs.shared_memory) <= quantity.parse(limit):
        return None
    words = f"sharedMemory is {inputs.shared_memory}, more than the memory limit of {limit}"
    return failure("SharedMemoryTooLarge", words)


_CHAIN: Final[tuple[Callable[[Spec, Settings], Failure | None], ...]] = (
    _profile,
    _flags,
    _environment,
    _shared_memory,
)
