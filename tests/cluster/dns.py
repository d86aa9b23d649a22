"""The cluster's DNS: CoreDNS as a process on the node's address."""

import http.client
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.components import Components
from tests.cluster.network import NODE_ADDRESS
from tests.cluster.processes import Configuration

_READY_PORT = 8181
# Names outside of the cluster do not exist: pods reach nothing but the cluster.
_COREFILE = """\
. {{
    bind {address}
    errors
    ready {address}:{port}
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {kubeconfig}
        ttl 1
    }}
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""


@dataclass(frozen=True)
class Dns:
    """Answers for cluster.local from the API server's Services."""

    components: Components
    coredns: Path

    def keep(self) -> None:
        """Start it if it does not run."""
        path = self.components.folder / "Corefile"
        kubeconfig = self.components.kubeconfig("coredns", "coredns", "system:masters")
        text = _COREFILE.format(address=NODE_ADDRESS, port=_READY_PORT, kubeconfig=kubeconfig)
        command = [str(self.coredns / "coredns"), f"-conf={path}"]
        self.components.records.keep("coredns", command, Configuration(path, text))

    def ready(self) -> bool:
        """Whether it has read the cluster's Services."""
        self.components.records.require("coredns")
        connection = http.client.HTTPConnection(NODE_ADDRESS, _READY_PORT, timeout=2)
        try:
            connection.request("GET", "/ready")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()
