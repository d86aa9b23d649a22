"""The project's own local Kubernetes, for tests and for people; see `python -m tests.cluster --help`."""

from tests.cluster.cluster import Cluster
from tests.cluster.controlplane import ControlPlane
from tests.cluster.errors import ClusterError

__all__ = ["Cluster", "ClusterError", "ControlPlane"]
