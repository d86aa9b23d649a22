"""A volume that a real kubelet cannot mount: the status says which, in its words, and forgets it by itself."""

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import example
from tests.operator.reconcile.models import until
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object, condition

pytestmark = [pytest.mark.node, pytest.mark.full]

NAME = "unmounted"
TELL_SECONDS = 45
"""8 s until Events are asked for, and the kubelet's own tries."""
RETRY_SECONDS = 150
"""The kubelet tries a mount again after two minutes at most."""


@pytest.fixture(autouse=True)
def gone(kubectl: Kubectl) -> Iterator[None]:
    """The test's model and its pods are gone afterwards."""
    yield
    kubectl.run("delete", "im", NAME, "--ignore-not-found")
    eventually(lambda: not kubectl.items("pods", f"arriero.dev/model={NAME}"), 60)


def mounting(source: Object, **spec: object) -> Object:
    """A model whose pods mount this volume beside those of every model."""
    model = example(NAME)
    mounts = [{"name": "extra", "mountPath": "/extra"}]
    template = {"volumes": [{"name": "extra", **source}], "containers": [{"name": "runtime", "volumeMounts": mounts}]}
    model["spec"] |= {"podTemplate": {"spec": template}, **spec}
    return model


def told(kubectl: Kubectl, *words: str) -> None:
    """The status says that a volume could not be mounted, in words that hold these."""
    message = until(kubectl, NAME, "Ready", "False", "VolumeMountFailed", timeout=TELL_SECONDS)["message"]
    assert [word for word in words if word not in message] == [], message


def test_a_secret_that_is_not_there_is_named_and_forgotten_when_it_has_come(kubectl: Kubectl) -> None:
    kubectl.apply(mounting({"secret": {"secretName": "absent"}}))
    told(kubectl, '"absent" not found')
    try:
        kubectl.run("create", "secret", "generic", "absent", "--from-literal=key=value")

        def mounted() -> bool:
            ready = condition(kubectl.json("get", "im", NAME), "Ready")
            return bool(ready["reason"] != "VolumeMountFailed")

        eventually(mounted, RETRY_SECONDS)
    finally:
        kubectl.run("delete", "secret", "absent", "--ignore-not-found")


def test_a_config_map_that_goes_before_the_pod_comes_is_named(kubectl: Kubectl) -> None:
    kubectl.run("create", "configmap", "passing", "--from-literal=key=value")
    kubectl.apply(mounting({"configMap": {"name": "passing"}}, replicas=0))
    eventually(lambda: kubectl.exists("deployment", NAME), 20)
    kubectl.run("delete", "configmap", "passing")
    kubectl.run("scale", f"im/{NAME}", "--replicas=1")
    told(kubectl, '"passing" not found')


def test_a_claim_whose_volume_the_node_cannot_mount_is_told_in_the_kubelets_words(kubectl: Kubectl) -> None:
    size = {"storage": "1Gi"}
    name = f"broken-{kubectl.namespace}"
    common = {"accessModes": ["ReadWriteOnce"], "storageClassName": name}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": common | {"capacity": size, "hostPath": {"path": "/nowhere/at/all", "type": "Directory"}},
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "broken"},
        "spec": common | {"resources": {"requests": size}, "volumeName": name},
    }
    kubectl.apply(volume)
    kubectl.apply(claim)
    try:
        kubectl.apply(mounting({"persistentVolumeClaim": {"claimName": "broken"}}))
        told(kubectl, "/nowhere/at/all is not a directory")
    finally:
        kubectl.run("delete", "im", NAME)
        kubectl.run("delete", "pvc", "broken", "--wait=false")
        kubectl.run("delete", "pv", name, "--wait=false")
