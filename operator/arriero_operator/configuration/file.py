"""The file of the operator's settings, as the chart writes it (docs/contract.md): what is not understood ends the
start."""

import re
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from arriero_api.labels import DEFAULT_CLASS
from arriero_api.types import Engine, PodTemplate, Resources
from arriero_operator.configuration.limits import Changes, NetworkRules, Policy, Reads, Strict
from arriero_operator.configuration.settings import Profile, Settings

_QUANTITY: Final = re.compile(r"[0-9]+(\.[0-9]+)?(m|[kMGTPE]|[KMGTPE]i)?")

DEFAULT_PATH: Final = Path("/etc/arriero/settings.yaml")


class SettingsError(ValueError):
    """The settings cannot be used; the text is one line that names the key and the remedy."""


def load(path: Path) -> Settings:
    """Read the file. Raises SettingsError."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"settings {path}: {error.strerror}: mount the chart's ConfigMap there") from error
    return parse(text, str(path))


def parse(text: str, source: str = "settings") -> Settings:
    """Settings from YAML text; `source` is named in errors. Raises SettingsError."""
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsError(f"{source}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(raw, dict):
        raise SettingsError(f"{source}: must be a map of settings")
    try:
        file = _File.model_validate(raw)
    except ValidationError as error:
        raise SettingsError(f"{source}: {_first(error)}") from error
    for name, profile in raw["profiles"].items():
        for part in ("engine", "resources", "podTemplate"):
            if unknown := _unknown(profile.get(part), _part(file.profiles[name], part)):
                raise SettingsError(f"{source}: profiles.{name}.{part}.{unknown}: unknown key: remove or correct it")
    if file.default_profile not in file.profiles:
        known = ", ".join(sorted(file.profiles))
        raise SettingsError(f"{source}: defaultProfile: {file.default_profile!r} is not one of the profiles: {known}")
    return Settings(
        watch_namespaces=tuple(file.watch_namespaces),
        default_profile=file.default_profile,
        hub_endpoint=file.hub.endpoint,
        workers=file.workers,
        profiles={name: profile.named(name) for name, profile in file.profiles.items()},
        operator_class=file.operator_class,
        policy=file.policy,
        reads=file.reads,
        changes=file.changes,
        network_policies=file.network_policies,
    )


def _quantity(value: int | str) -> int | str:
    if not _QUANTITY.fullmatch(str(value)):
        raise ValueError(f"{value!r} is not a quantity such as 2, '500m' or '8Gi'")
    return value


def _quantities(resources: Resources) -> Resources:
    for amounts in (resources.limits, resources.requests):
        for value in (amounts or {}).values():
            _quantity(value)
    return resources


_Label = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=63)]


class _Strict(BaseModel):
    model_config = Strict.model_config


class _Hub(_Strict):
    endpoint: Annotated[str, Field(pattern=r"^(https?://\S+)?$")]


class _PullSecret(_Strict):
    name: Annotated[str, Field(min_length=1, max_length=253)]


class _Profile(_Strict):
    image: Annotated[str, Field(pattern=r"^\S+$")]
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    resources: Annotated[Resources, AfterValidator(_quantities)]
    shared_memory: Annotated[int | str, AfterValidator(_quantity)]
    engine: Engine = Engine()
    node_selector: dict[str, str] = {}
    tolerations: list[dict[str, Any]] = []
    runtime_class_name: str = ""
    pod_template: PodTemplate | None = None
    affinity: dict[str, Any] = {}
    topology_spread_constraints: list[dict[str, Any]] = []
    priority_class_name: str = ""
    image_pull_secrets: list[_PullSecret] = []

    def named(self, name: str) -> Profile:
        return Profile(
            name=name,
            image=self.image,
            image_pull_policy=self.image_pull_policy,
            resources=self.resources,
            shared_memory=str(self.shared_memory),
            engine=self.engine,
            node_selector=self.node_selector,
            tolerations=tuple(self.tolerations),
            runtime_class_name=self.runtime_class_name,
            pod_template=self.pod_template,
            affinity=self.affinity,
            topology_spread_constraints=tuple(self.topology_spread_constraints),
            priority_class_name=self.priority_class_name,
            image_pull_secrets=tuple(secret.name for secret in self.image_pull_secrets),
        )


class _File(_Strict):
    watch_namespaces: list[_Label]
    default_profile: str
    hub: _Hub
    workers: Annotated[int, Field(ge=1, le=64)]
    profiles: Annotated[dict[_Label, _Profile], Field(min_length=1)]
    operator_class: _Label = DEFAULT_CLASS
    policy: Policy = Policy()
    reads: Reads = Reads()
    changes: Changes = Changes()
    network_policies: NetworkRules = NetworkRules()


def _first(error: ValidationError) -> str:
    """The first complaint as "key: what is wrong"."""
    found = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in found["loc"])
    if found["type"] == "missing":
        return f"{key}: missing: add it"
    if found["type"] == "extra_forbidden":
        return f"{key}: unknown key: remove or correct it"
    if found["type"] == "value_error":
        return f"{key}: {found['ctx']['error']}"
    return f"{key}: {found['msg']}, but it is {found['input']!r}"


def _part(profile: _Profile, key: str) -> Any:
    return next(getattr(profile, name) for name, one in _Profile.model_fields.items() if one.alias == key)


def _unknown(raw: Any, parsed: Any) -> str:
    """The first key of `raw` that `parsed` did not take, as a path; empty when all were taken.

    The types of the resource ignore unknown keys, because the API server prunes them; here nothing would.
    """
    if isinstance(raw, list) and isinstance(parsed, list):
        raw, parsed = dict(enumerate(raw)), dict(enumerate(parsed))
    if not isinstance(raw, dict) or not isinstance(parsed, BaseModel | dict):
        return ""
    if isinstance(parsed, BaseModel):
        parsed = {f.alias or name: getattr(parsed, name) for name, f in type(parsed).model_fields.items()}
    for key, value in raw.items():
        if key not in parsed:
            return str(key)
        if inner := _unknown(value, parsed[key]):
            return f"{key}.{inner}"
    return ""
