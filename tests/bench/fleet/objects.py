"""Objects of the benchmark: models, and what stands for their children where no operator makes them."""

import ipaddress
import itertools
from typing import Any

from arriero_api.labels import MODEL
from arriero_operator.render import children
from arriero_operator.render.owner import Owner
from tests.cluster.fakenodes import FAKE_NODE_LABEL

Json = dict[str, Any]

NODE_PODS = 2_500
_POD_CIDR = "127.77.0.0/16"
"""Not that of other tests' fake pods, so that these may run beside; kwok hands its addresses out in order."""


def addresses(count: int) -> list[str]:
    """Those of the first `count` pods on nodes of `node`."""
    return [str(one) for one in itertools.islice(ipaddress.ip_network(_POD_CIDR), count)]


def node(name: str) -> Json:
    """A fake node with room for `NODE_PODS` pods; all have one range of addresses for them."""
    amounts = {"cpu": "100k", "memory": "1Pi", "ephemeral-storage": "1Pi", "pods": str(NODE_PODS)}
    amounts["nvidia.com/gpu"] = str(NODE_PODS)
    found = {FAKE_NODE_LABEL: "true", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": found},
        "spec": {"podCIDR": _POD_CIDR, "podCIDRs": [_POD_CIDR]},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def model(namespace: str, name: str) -> Json:
    """The smallest model."""
    return {
        "apiVersion": "arriero.dev/v1alpha1",
        "kind": "InferenceModel",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"model": {"uri": "hf://org/model"}},
    }


def bare(namespace: str, name: str, template: Json, record: Json) -> list[Json]:
    """ControllerRevision, ConfigMap, Service and Deployment as the operator makes them for a model, owned by nobody.

    `template` is a pod template of the operator, whose ConfigMap is replaced by this one; `record` is a
    ControllerRevision of the operator.
    """
    owner = Owner(namespace, name, "")
    revision: Json = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"namespace": namespace, "name": f"{name}-revision"},
        "revision": record["revision"],
        "data": record["data"],
    }
    config: Json = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": f"{name}-names"},
        "data": {"registrations.json": "{}"},
    }
    rolling = {"maxSurge": 1, "maxUnavailable": 0}
    deployment = children.deployment_whole(owner, 1, rolling, _renamed(template, name, f"{name}-names"))
    service: Json = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"selector": deployment["spec"]["selector"]["matchLabels"], "ports": [{"port": 80}]},
    }
    deployment["metadata"].pop("ownerReferences")
    return [revision, config, service, deployment]


def _renamed(template: Json, name: str, config_map: str) -> Json:
    volumes = [
        one | {"configMap": {"name": config_map}} if "configMap" in one else one for one in template["spec"]["volumes"]
    ]
    labels = template["metadata"]["labels"] | {MODEL: name}
    metadata = template["metadata"] | {"labels": labels, "annotations": {}}
    return {"metadata": metadata, "spec": template["spec"] | {"volumes": volumes}}
