"""The Service in front of a model's pods, and the URL that it gives."""

from arriero_api import pod
from arriero_api.types import Service
from arriero_operator.render import names
from arriero_operator.render.children import metadata
from arriero_operator.render.owner import Json, Owner


def name(model: str, wanted: Service) -> str:
    """What the Service is called."""
    return wanted.name or names.stem(model)


def url(owner: Owner, wanted: Service) -> str:
    """Where clients in the cluster reach the model."""
    return names.url(name(owner.name, wanted), owner.namespace, wanted.port)


def service(owner: Owner, wanted: Service) -> Json:
    """The wanted port to the pods' HTTP API. What the operator sets itself is not overridden."""
    head = metadata(owner, name(owner.name, wanted))
    head["labels"] = (wanted.labels or {}) | head["labels"]
    head["annotations"] = (wanted.annotations or {}) | head["annotations"]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": head,
        "spec": {
            "type": wanted.type,
            "selector": names.selector(owner.name),
            "ports": [{"name": "http", "port": wanted.port, "targetPort": pod.SERVE_PORT, "protocol": "TCP"}],
        },
    }
