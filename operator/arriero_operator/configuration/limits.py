"""What the chart allows the authors of InferenceModels, lets the operator read, and does about changes from outside."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Peer = dict[str, Any]
"""A NetworkPolicyPeer: podSelector, namespaceSelector or ipBlock."""

Port = Annotated[int, Field(ge=1, le=65_535)]
ServiceType = Literal["ClusterIP", "NodePort", "LoadBalancer"]


class Strict(BaseModel):
    """A part of the settings: an unknown key is an error."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


class Policy(Strict):
    """What authors of InferenceModels may use. Profiles are the platform's own and not bound by it."""

    pod_template: bool = True
    images: Annotated[list[str] | None, Field(max_length=64)] = None
    """Beginnings of image references that spec.image and the containers of spec.podTemplate may have; None: any."""
    sources: Annotated[list[str] | None, Field(max_length=64)] = None
    """Beginnings of URIs that models and adapters may have; None: any."""
    service_types: list[ServiceType] = ["ClusterIP", "NodePort", "LoadBalancer"]
    trust_remote_code: bool = True


class Reads(Strict):
    """What is looked up before pods are made, beyond ConfigMaps and claims of the model's namespace."""

    secrets: bool = False
    classes: bool = False
    """Priority, runtime and storage classes, which are objects of the cluster."""


class Egress(Strict):
    """Where model pods may connect to; no peer means any destination."""

    dns: list[Peer] = []
    sources: list[Peer] = []
    source_ports: Annotated[list[Port], Field(min_length=1)] = [443]


class NetworkRules(Strict):
    """Whether every model gets a NetworkPolicy, and what it lets through. No peer in `clients` means everybody."""

    enabled: bool = False
    clients: list[Peer] = [{"podSelector": {}}]
    operator: list[Peer] = []
    monitoring: list[Peer] = []
    egress: Egress = Egress()


class Changes(Strict):
    """What follows from changes that no spec tells of.

    `references`: of what a spec refers to. `profiles`: of profiles and the hub's endpoint; None: as of `references`.
    `images`: of a profile's image.
    """

    references: Literal["Rollout", "Report"] = "Rollout"
    profiles: Literal["Rollout", "OneByOne", "Report"] | None = None
    images: Literal["OneByOne", "Report"] = "Report"
