"""Whether a spec can be acted on at all: a chain of checks, the first refusal counts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from arriero_api import owned_env, owned_flags, owned_pod, pod_shapes
from arriero_api.contract import Failure
from arriero_api.types import Engine, EnvVar, Spec
from arriero_operator.configuration.settings import Profile, Settings
from arriero_operator.decide import capacity, policy
from arriero_operator.decide.references import one_node
from arriero_operator.diagnose.failures import failure
from arriero_operator.pods.written import Written
from arriero_operator.render import layers
from arriero_operator.render.claim import DEFAULT_MODES
from arriero_operator.render.inputs import Inputs, pod_inputs
from arriero_operator.render.template import own_template


@dataclass(frozen=True, slots=True)
class Asked:
    """A spec laid over its profile; without `profile` where the chart has no such, without `inputs` where it cannot be
    laid over it.

    `refused`: why it cannot be acted on.
    """

    spec: Spec
    settings: Settings
    profile: Profile | None
    inputs: Inputs | None
    refused: Failure | None = None

    def written(self, template: dict[str, Any]) -> Written:
        """Where the user, or the chart, has written what stands in the pod template made of this."""
        profile = self.profile.name if self.profile else ""
        return Written(template, _pod_templates(self.spec, self.profile), self.spec, profile)


def asked(spec: Spec, settings: Settings) -> Asked:
    """`spec` over the profile that it asks for, or the chart's default."""
    profile = settings.profile(spec.profile)
    if (wrong := _misshapen(spec, profile)) is not None:
        return Asked(spec, settings, profile, None, wrong)
    inputs = None if profile is None else pod_inputs(spec, profile, settings.hub_endpoint)
    bare = Asked(spec, settings, profile, inputs)
    return replace(bare, refused=next((found for check in _CHAIN if (found := check(bare)) is not None), None))


def _profile(asked: Asked) -> Failure | None:
    if asked.profile is not None:
        return None
    known = ", ".join(sorted(asked.settings.profiles))
    return failure(
        "ProfileUnknown", f"spec.profile: {asked.spec.profile!r} is not one of the chart's profiles: {known}"
    )


def _flags(asked: Asked) -> Failure | None:
    found = [
        f"{where}.args: {flag}: {advice}"
        for where, engine in _engines(asked)
        for flag, advice in owned_flags.refused(engine.args or ())
    ]
    return failure("EngineFlagOwned", "; ".join(found)) if found else None


def _environment(asked: Asked) -> Failure | None:
    found = [
        f"{where}.env: {name}: {why}" for where, engine in _engines(asked) for name, why in _owned(engine.env or ())
    ]
    return failure("EngineEnvOwned", "; ".join(found)) if found else None


def _engines(asked: Asked) -> list[tuple[str, Engine]]:
    """The engine settings with the place where a user finds them."""
    spec, profile = asked.spec, asked.profile
    found = [("spec.engine", spec.engine)] if spec.engine else []
    return [*found, (f"profiles.{profile.name}.engine of the chart", profile.engine)] if profile else found


def _owned(variables: Iterable[EnvVar]) -> list[tuple[str, str]]:
    told = (
        (one.name, owned_env.advice(one.name) or owned_env.literal_secret(one.name, one.value)) for one in variables
    )
    return [(name, why) for name, why in told if why]


def _misshapen(spec: Spec, profile: Profile | None) -> Failure | None:
    """A podTemplate that cannot even be laid over the pods."""
    earlier: list[dict[str, Any]] = []
    for where, template in _pod_templates(spec, profile):
        found = [f"{where}{path}: {advice}" for path, advice in pod_shapes.misshapen(template, earlier)]
        if found:
            return failure("PodTemplateInvalid", "; ".join(found))
        earlier.append(template)
    return None


def _pod_template(asked: Asked) -> Failure | None:
    if asked.profile is None or asked.inputs is None or not asked.inputs.pod_templates:
        return None
    base = own_template("", asked.inputs)
    found = [
        f"{where}{path}: {advice}"
        for where, template in _pod_templates(asked.spec, asked.profile)
        for path, advice in owned_pod.refused(template, base)
    ]
    return failure("PodTemplateFieldOwned", "; ".join(found)) if found else None


def _pod_templates(spec: Spec, profile: Profile | None) -> list[tuple[str, dict[str, Any]]]:
    """In the order in which they are laid over the pods, with the place where a user finds each."""
    found = [("spec.podTemplate", spec.pod_template)]
    if profile is not None:
        found = [(f"profiles.{profile.name}.podTemplate of the chart", profile.pod_template), *found]
    return [(where, layers.plain(template)) for where, template in found if template is not None]


def _allowed(asked: Asked) -> Failure | None:
    found = list(policy.forbidden(asked.spec, asked.settings.policy))
    return failure("NotAllowed", "; ".join(found)) if found else None


def _shared_memory(asked: Asked) -> Failure | None:
    return _misfit("SharedMemoryTooLarge", capacity.shared_memory, asked)


def _accelerators(asked: Asked) -> Failure | None:
    return _misfit("AcceleratorsMismatch", capacity.accelerators, asked)


def _own_claim(asked: Asked) -> Failure | None:
    template = asked.spec.cache.claim_template if asked.spec.cache else None
    if template is None or asked.spec.replicas <= 1 or not one_node(template.access_modes or DEFAULT_MODES):
        return None
    words = "spec.cache.claimTemplate.accessModes has no ReadWriteMany"
    return failure("ClaimNotShareable", f"spec.replicas is {asked.spec.replicas}, and {words}")


def _misfit(reason: str, check: Callable[[Inputs], str], asked: Asked) -> Failure | None:
    words = check(asked.inputs) if asked.inputs is not None else ""
    return failure(reason, words) if words else None


_CHAIN: Final[tuple[Callable[[Asked], Failure | None], ...]] = (
    _profile,
    _flags,
    _environment,
    _pod_template,
    _allowed,
    _shared_memory,
    _accelerators,
    _own_claim,
)
