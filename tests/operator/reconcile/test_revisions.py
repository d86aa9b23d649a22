"""Revisions are applied as they were stored: by other versions of the operator, and over what others do to them."""

import json

import pytest

from tests.conftest import MakeOperator
from tests.operator.reconcile.models import model, patch_spec, until
from tests.operator.reconcile.pods import Pods
from tests.operator.reconcile.test_turnover import finish
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object

pytestmark = pytest.mark.control_plane

TUNED = ("-m", "tests.support.tuned_operator")
RESTARTED = "kubectl.kubernetes.io/restartedAt"


def serve(kubectl: Kubectl) -> Pods:
    """A ready model of one pod."""
    kubectl.apply(model("tiny"))
    pods = Pods(kubectl, "tiny")
    (pod,) = pods.placed()
    pods.ready(pod)
    until(kubectl, "tiny", "Ready", "True", "Ready")
    return pods


def template(kubectl: Kubectl) -> Object:
    """The Deployment's pod template."""
    found: Object = kubectl.json("get", "deployment", "tiny")["spec"]["template"]
    return found


def containers(kubectl: Kubectl) -> dict[str, str]:
    """Images of the pod template by container."""
    return {one["name"]: one["image"] for one in template(kubectl)["spec"]["containers"]}


def test_an_operator_of_another_version_that_would_render_otherwise_changes_no_pod(
    kubectl: Kubectl, operator: MakeOperator, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = operator()
    pods = serve(kubectl)
    before, (record,) = template(kubectl), kubectl.items("controllerrevisions", "arriero.dev/model=tiny")
    older.stop()
    monkeypatch.setenv("TUNED", json.dumps({"revisions.records.VERSION": "99.0", "render.template._USER": 1234}))
    operator(program=TUNED, identity="operator-1")
    patch_spec(kubectl, "tiny", {"model": {"uri": "hf://org/tiny", "aliases": ["chat"]}, "replicas": 2})
    (other,) = [pod for pod in pods.placed(2) if pod.get("status", {}).get("phase") != "Running"]
    pods.ready(other)
    assert template(kubectl) == before
    assert other["spec"]["securityContext"]["runAsUser"] == before["spec"]["securityContext"]["runAsUser"] == 65532
    (same,) = kubectl.items("controllerrevisions", "arriero.dev/model=tiny")
    assert same["data"] == record["data"]
    # What is new is rendered by the new version.
    patch_spec(kubectl, "tiny", {"engine": {"maxModelLen": 512}})
    eventually(lambda: template(kubectl)["spec"]["securityContext"]["runAsUser"] == 1234)
    newer = max(kubectl.items("controllerrevisions", "arriero.dev/model=tiny"), key=lambda one: int(one["revision"]))
    assert (newer["data"]["operatorVersion"], newer["revision"]) == ("99.0", record["revision"] + 1)


def test_an_edit_by_hand_is_put_back_while_a_restart_and_an_injected_container_stay(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    first = operator()
    pods = serve(kubectl)
    image = containers(kubectl)["runtime"]
    grace = template(kubectl)["spec"]["terminationGracePeriodSeconds"]
    injected = {"name": "mesh", "image": "registry.example.com/mesh:1"}
    kubectl.run(
        *("apply", "--server-side", "--field-manager=injector", "-f", "-"),
        stdin=json.dumps(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "tiny", "namespace": kubectl.namespace},
                "spec": {"template": {"spec": {"containers": [injected]}}},
            }
        ),
    )
    kubectl.run("rollout", "restart", "deployment/tiny")
    restarted = template(kubectl)["metadata"]["annotations"][RESTARTED]

    def edit_and_look() -> None:
        kubectl.run("set", "image", "deployment/tiny", "runtime=registry.example.com/other:2")
        kubectl.patch("deployment", "tiny", {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 1}}}})
        eventually(lambda: containers(kubectl)["runtime"] == image, 5)
        eventually(lambda: template(kubectl)["spec"]["terminationGracePeriodSeconds"] == grace, 5)
        assert containers(kubectl)["mesh"] == injected["image"]
        assert template(kubectl)["metadata"]["annotations"][RESTARTED] == restarted

    edit_and_look()
    first.stop()
    operator(identity="operator-1")
    edit_and_look()
    finish(kubectl, pods)
    (pod,) = pods.live()
    assert {one["name"] for one in pod["spec"]["containers"]} == {"runtime", "mesh"}
