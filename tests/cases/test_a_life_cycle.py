"""Class A of the field cases: the life cycle of operator and resource, on a real API server with fake nodes."""

import json
from typing import Any

import pytest

from tests.conftest import MakeOperator
from tests.operator.reconcile.models import events, model, patch_spec, read, until
from tests.operator.reconcile.pods import Pods
from tests.operator.reconcile.test_control_plane import serve
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, KubectlError, Object, condition
from tests.support.operator import operator_settings

pytestmark = pytest.mark.control_plane

IMAGE = "registry.invalid/infer/runtime:nope"
_LONG = "llama-3.1-8b-instruct-for-the-customer-support-team-in-region-eu-"
NAMES = (f"{_LONG}a", f"{_LONG}b", "7b-chat", "a.b.c", "a-b-c", ".".join(["x" * 63] * 2))
PULLS = {
    "ImagePullBackOff": f'Back-off pulling image "{IMAGE}"',
    "ErrImagePull": f'failed to pull and unpack image "{IMAGE}": no such host',
    "InvalidImageName": f'Failed to apply default image tag "{IMAGE}": invalid reference format',
    "ErrImageNeverPull": f'Container image "{IMAGE}" is not present with pull policy of Never',
}


def newest(pods: Pods, known: Object) -> Object:
    """The pod that has come beside or after `known`, once it has a node."""

    def look() -> Object:
        found = [one for one in pods.live() if one["metadata"]["uid"] != known["metadata"]["uid"]]
        assert len(found) == 1
        assert found[0]["spec"].get("nodeName")
        return found[0]

    return eventually(look, 15)


def finish(kubectl: Kubectl, pods: Pods, pod: Object) -> None:
    """The rollout to `pod` ends."""
    pods.ready(pod)

    def look() -> Object:
        pods.remove_deleted()
        return until(kubectl, pods.stem, "Ready", "True", "Ready", timeout=1)

    eventually(look, 15)


def test_a01_a_namespace_that_is_deleted_while_the_operator_is_away_goes(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    process = operator()
    pods = serve(kubectl)
    assert "finalizers" not in read(kubectl, "tiny")["metadata"]
    process.stop()
    kubectl.run("delete", "namespace", kubectl.namespace, "--wait=false")

    def gone() -> bool:
        pods.remove_deleted()
        return not kubectl.exists("namespace", kubectl.namespace)

    eventually(gone, 60)


def test_a03_waiting_for_ready_never_ends_on_the_model_that_was_served_before(served: Kubectl) -> None:
    pods = serve(served)
    (old,) = pods.live()
    patch_spec(served, "tiny", {"model": {"uri": "hf://org/tiny-b"}})
    with pytest.raises(KubectlError, match="timed out"):
        served.run("wait", "im/tiny", "--for=condition=Ready", "--timeout=3s")
    changed = read(served, "tiny")
    assert changed["status"]["observedGeneration"] == changed["metadata"]["generation"]
    assert condition(changed, "Ready")["status"] == "False"
    assert condition(changed, "UpToDate")["reason"] == "RollingOut"
    assert condition(changed, "Available")["status"] == "True"
    assert changed["status"]["model"]["resolved"] == "hf://org/tiny-b"
    assert changed["status"]["model"]["serving"] != changed["status"]["model"]["wanted"]
    finish(served, pods, newest(pods, old))
    after = read(served, "tiny")["status"]["model"]
    assert after["serving"] == after["wanted"]


def test_a03_a06_a_new_default_image_restarts_no_pod_and_pods_of_one_revision_are_alike(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    process = operator()
    pods = serve(kubectl)
    (old,) = pods.live()
    process.stop()
    profiles: dict[str, Any] = operator_settings(kubectl.namespace)["profiles"]
    profiles["nvidia"]["image"] = "another-runtime:9"
    operator(identity="operator-1", profiles=profiles)
    kubectl.run("scale", "im/tiny", "--replicas=2")
    both = pods.placed(2)
    assert old["metadata"]["uid"] in [one["metadata"]["uid"] for one in both]
    assert len({one["spec"]["containers"][0]["image"] for one in both}) == 1


def test_a05_a_crash_loop_tells_the_exit_code_and_last_words_in_one_event(served: Kubectl) -> None:
    pods = serve(served)
    (pod,) = pods.live()
    end = {"exitCode": 3, "reason": "Error", "message": "first\nTraceback: boom"}
    for seconds in (10, 20, 40):
        pods.waiting(pod, "CrashLoopBackOff", f"back-off {seconds}s restarting failed container", end)
        found = until(served, "tiny", "Ready", "False", "RuntimeExited", timeout=5)
        assert "exit code 3" in found["message"]
        assert "Traceback: boom" in found["message"]
    until(served, "tiny", "EngineReady", "False", "RuntimeExited")
    assert read(served, "tiny")["status"].get("readyReplicas", 0) == 0
    pods.ready(pod)
    until(served, "tiny", "Ready", "True", "Ready")
    assert len(events(served, "tiny", "RuntimeExited")) == 1


INIT_FAILS: dict[str, tuple[Object, str, str]] = {
    "ends with an error": (
        {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 3}}},
        "RuntimeExited",
        "Container 'fetch': the container ended with exit code 3",
    ),
    "has no image": (
        {"state": {"waiting": {"reason": "ErrImagePull", "message": PULLS["ErrImagePull"]}}},
        "ImagePullFailed",
        f"Container 'fetch': failed to pull and unpack image \"{IMAGE}\"",
    ),
}


@pytest.mark.parametrize(("state", "reason", "words"), INIT_FAILS.values(), ids=INIT_FAILS)
def test_a05_a09_an_init_container_is_told_by_name_when_it(
    served: Kubectl, state: Object, reason: str, words: str
) -> None:
    fetch = {"name": "fetch", "image": IMAGE}
    served.apply(model("tiny", podTemplate={"spec": {"initContainers": [fetch]}}))
    pods = Pods(served, "tiny")
    (pod,) = pods.placed()
    init = {**fetch, "imageID": "", "ready": False, "restartCount": 1, **state}
    status = json.dumps({"status": {"initContainerStatuses": [init]}})
    name = pod["metadata"]["name"]
    served.run("patch", "pod", name, "--subresource=status", "--type=merge", "-p", status)
    pods.waiting(pod, "PodInitializing", "")
    found = until(served, "tiny", "Ready", "False", reason, timeout=5)
    assert words in found["message"]
    assert "podTemplate" in found["message"]
    served.run(
        "patch", "pod", name, "--subresource=status", "--type=merge", "-p", '{"status":{"initContainerStatuses":[]}}'
    )
    pods.ready(pod)
    until(served, "tiny", "Ready", "True", "Ready")
    assert len(events(served, "tiny", reason)) == 1


def test_a05_a_node_that_does_not_report_any_more_is_told_and_forgotten_when_it_returns(served: Kubectl) -> None:
    pods = serve(served)
    (pod,) = pods.live()
    lost = [{"type": "Ready", "status": "False"}, {"type": "ContainersReady", "status": "True"}]
    patch = json.dumps({"status": {"conditions": lost}})
    served.run("patch", "pod", pod["metadata"]["name"], "--subresource=status", "--type=strategic", "-p", patch)
    found = until(served, "tiny", "Ready", "False", "NodeLost", timeout=5)
    assert pod["spec"]["nodeName"] in found["message"]
    until(served, "tiny", "Available", "False", "NoReadyReplica")
    pods.ready(pod)
    until(served, "tiny", "Ready", "True", "Ready", timeout=5)


@pytest.mark.parametrize("reason", PULLS)
def test_a09_an_image_that_cannot_be_pulled_is_named_while_the_old_pod_serves_on(served: Kubectl, reason: str) -> None:
    pods = serve(served)
    (old,) = pods.live()
    patch_spec(served, "tiny", {"image": IMAGE})
    new = newest(pods, old)
    pods.waiting(new, reason, PULLS[reason])
    found = until(served, "tiny", "Ready", "False", "ImagePullFailed", timeout=2)
    assert IMAGE in found["message"]
    until(served, "tiny", "EngineReady", "False", "ImagePullFailed")
    until(served, "tiny", "Available", "True")
    until(served, "tiny", "UpToDate", "False", "RollingOut")
    eventually(lambda: len(events(served, "tiny", "ImagePullFailed")) == 1)
    pods.waiting(new, "ImagePullBackOff", f'Back-off pulling image "{IMAGE}"')
    patch_spec(served, "tiny", {"image": None})

    def mended() -> Object:
        pods.remove_deleted()
        return until(served, "tiny", "Ready", "True", "Ready", timeout=1)

    eventually(mended, 15)
    assert [one["metadata"]["uid"] for one in pods.live()] == [old["metadata"]["uid"]]
    assert len(events(served, "tiny", "ImagePullFailed")) == 1


def test_a11_names_that_are_long_or_no_dns_label_work_side_by_side(served: Kubectl) -> None:
    for name in NAMES:
        served.apply(model(name))
    stems = {}
    for name in NAMES:
        until(served, name, "Accepted", "True")
        status = read(served, name)["status"]
        stems[name] = status["selector"].removeprefix("arriero.dev/model=")
        (pod,) = Pods(served, stems[name]).placed()
        assert pod["metadata"]["annotations"]["arriero.dev/inferencemodel"] == name
        assert all(len(value) <= 63 for value in pod["metadata"]["labels"].values())
        Pods(served, stems[name]).ready(pod)
        until(served, name, "Ready", "True", "Ready")
        assert status["url"] == f"http://{stems[name]}.{served.namespace}.svc"
    assert len(set(stems.values())) == len(NAMES)
    assert eventually(lambda: events(served, NAMES[-1]))
