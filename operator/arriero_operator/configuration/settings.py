"""What the chart decides, as the rest of the operator reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arriero_api.labels import DEFAULT_CLASS
from arriero_api.types import Engine, PodTemplate, Resources
from arriero_operator.configuration.limits import Changes, NetworkRules, Policy, Reads


@dataclass(frozen=True, slots=True)
class Profile:
    """How pods for one kind of hardware look, where the InferenceModel itself does not say.

    `shared_memory` is the size of /dev/shm as a quantity; `runtime_class_name` is empty for the cluster's default.
    """

    name: str
    image: str
    image_pull_policy: str = "IfNotPresent"
    resources: Resources = field(default_factory=Resources)
    shared_memory: str = "2Gi"
    engine: Engine = field(default_factory=Engine)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    runtime_class_name: str = ""
    pod_template: PodTemplate | None = None
    affinity: Mapping[str, Any] = field(default_factory=dict)
    topology_spread_constraints: tuple[Mapping[str, Any], ...] = ()
    priority_class_name: str = ""
    image_pull_secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """What the chart decides. `watch_namespaces` is empty for all; `hub_endpoint` is empty for the public hub.

    Only models of the `operator_class` are served.
    """

    watch_namespaces: tuple[str, ...]
    default_profile: str
    hub_endpoint: str
    workers: int
    profiles: Mapping[str, Profile]
    operator_class: str = DEFAULT_CLASS
    policy: Policy = field(default_factory=Policy)
    reads: Reads = field(default_factory=Reads)
    changes: Changes = field(default_factory=Changes)
    network_policies: NetworkRules = field(default_factory=NetworkRules)

    def profile(self, name: str | None) -> Profile | None:
        """The one that a spec asks for by name, or the default one; None where the chart has no such."""
        return self.profiles.get(name or self.default_profile)
