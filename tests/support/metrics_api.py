"""A stand-in of a metrics adapter: the external metrics API, whose one value per name the test says.

The API server asks it as it would a Prometheus adapter: an APIService leads to a Service, whose external name is this
machine.
"""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.cluster.certificates import Authority
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object, condition
from tests.support.threaded import serving

_GROUP = "external.metrics.k8s.io"
_ROOT = f"/apis/{_GROUP}/v1beta1"
_NAME = "v1beta1.external.metrics.k8s.io"


@dataclass
class Metrics:
    """`values` by the metric's name; `asked` counts the autoscaler's questions."""

    values: dict[str, int] = field(default_factory=dict)
    asked: int = 0


@contextmanager
def metrics_api(kubectl: Kubectl, folder: Path) -> Iterator[Metrics]:
    """The API for as long as the block lasts; kubectl has the admin's rights."""
    metrics = Metrics()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(metrics))
    pair = Authority(folder / "metrics").server("metrics", ("localhost",))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server), _registered(kubectl, server.server_port):
        yield metrics


@contextmanager
def _registered(kubectl: Kubectl, port: int) -> Iterator[None]:
    """The API server knows it, and finds it there."""
    try:
        kubectl.apply(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "metrics"},
                "spec": {"type": "ExternalName", "externalName": "localhost"},
            }
        )
        kubectl.apply(_api_service(kubectl.namespace, port))
        eventually(lambda: condition(kubectl.json("get", "apiservice", _NAME), "Available").get("status") == "True", 30)
        yield
    finally:
        kubectl.run("delete", "apiservice", _NAME, "--ignore-not-found")


def _api_service(namespace: str, port: int) -> Object:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": _NAME},
        "spec": {
            "group": _GROUP,
            "version": "v1beta1",
            "service": {"namespace": namespace, "name": "metrics", "port": port},
            "insecureSkipTLSVerify": True,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        },
    }


def _handler(metrics: Metrics) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = json.dumps(self._answer()).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _answer(self) -> Object:
            path = self.path.partition("?")[0]
            if not path.startswith(f"{_ROOT}/namespaces/"):
                return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{_GROUP}/v1beta1"} | _RESOURCES
            metrics.asked += 1
            name = path.rpartition("/")[2]
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            item = {"metricName": name, "metricLabels": {}, "timestamp": now, "value": str(metrics.values[name])}
            return {
                "kind": "ExternalMetricValueList",
                "apiVersion": f"{_GROUP}/v1beta1",
                "metadata": {},
                "items": [item],
            }

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    return Handler


_RESOURCES: Object = {
    "resources": [
        {
            "name": "waiting",
            "singularName": "",
            "namespaced": True,
            "kind": "ExternalMetricValueList",
            "verbs": ["get"],
        }
    ]
}
