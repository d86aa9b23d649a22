"""The cases use the fixtures of the reconcile tests: the test plays the kubelet."""

from tests.operator.reconcile.conftest import namespace, served, world

__all__ = ["namespace", "served", "world"]
