"""A new revision that fails ends with the last good one serving, on a real API server."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from arriero_api.contract import Failure, Phase, Registrations, RuntimeStatus
from tests.conftest import MakeOperator
from tests.operator.reconcile.machines import GPU, machine, operator_on
from tests.operator.reconcile.models import events, patch_spec, read, until
from tests.operator.reconcile.pods import Pods
from tests.operator.reconcile.runtime import scripted_runtime
from tests.operator.reconcile.test_turnover import NEXT, finish, play, revision, serve
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object, condition

pytestmark = pytest.mark.control_plane

NOT_FOUND = (
    '{"schemaVersion": 1, "reason": "ModelNotFound", "message": "the hub knows no repository org/b", '
    '"remedy": "Correct spec.model.uri."}'
)
END = {"exitCode": 1, "reason": "Error", "message": NOT_FOUND}
OTHER = {"model": {"uri": "hf://org/b"}}


@pytest.fixture
def two(kubectl: Kubectl) -> Iterator[str]:
    """A node with two accelerators."""
    with machine(kubectl, 2) as name:
        yield name


def new_pod(pods: Pods, old: Object) -> Object:
    """The placed pod of another revision than `old`'s."""

    def look() -> Object | None:
        found = [pod for pod in pods.live() if revision(pod) != revision(old) and pod["spec"].get("nodeName")]
        return found[0] if found else None

    found = eventually(look, 20)
    assert found is not None
    return found


def fail(kubectl: Kubectl, pods: Pods) -> Object:
    """Roll out a revision that fails for good; the old pod."""
    (old,) = pods.live()
    patch_spec(kubectl, "tiny", OTHER)
    pods.waiting(new_pod(pods, old), "CrashLoopBackOff", "back-off", END)
    return old


def rolled_back(kubectl: Kubectl, pods: Pods, old: Object) -> None:
    """Only the old pod is left, it serves, and the resource says why."""
    found = until(kubectl, "tiny", "Ready", "False", "ModelNotFound")
    assert "Correct spec.model.uri." in found["message"]
    until(kubectl, "tiny", "Available", "True")
    until(kubectl, "tiny", "UpToDate", "False", "RolledBack")
    until(kubectl, "tiny", "Stalled", "True", "ModelNotFound")
    eventually(lambda: [pod["metadata"]["uid"] for pod in pods.live()] == [old["metadata"]["uid"]])
    pods.remove_deleted()


def test_a_revision_that_fails_for_good_is_given_up_and_stays_so_over_a_restart_of_the_operator(
    kubectl: Kubectl, operator: MakeOperator, two: str
) -> None:
    process = operator_on(operator, kubectl, two)
    pods = serve(kubectl)
    old = fail(kubectl, pods)
    rolled_back(kubectl, pods, old)
    process.kill()
    process = operator_on(operator, kubectl, two, "operator-1")
    kubectl.run("label", "im", "tiny", "touched=yes")
    patch_spec(kubectl, "tiny", {"replicas": 2, "model": {"uri": "hf://org/b", "aliases": ["chat"]}})
    # Replicas and names keep applying meanwhile.
    (second,) = [pod for pod in pods.placed(2) if pod["metadata"]["uid"] != old["metadata"]["uid"]]
    assert revision(second) == revision(old)
    (content,) = [
        Registrations.from_json(one["data"]["registrations.json"])
        for one in kubectl.items("configmap", f"arriero.dev/revision={revision(old)}")
    ]
    assert [name.name for name in content.names] == ["tiny", "chat"]
    pods.ready(second)
    until(kubectl, "tiny", "EngineReady", "True")
    until(kubectl, "tiny", "Ready", "False", "ModelNotFound")
    assert len(events(kubectl, "tiny", "RolledBack")) == 1
    assert len(events(kubectl, "tiny", "ModelNotFound")) == 1


@pytest.mark.parametrize("how", ["annotation", "another spec"])
def test_what_was_given_up_is_tried_again_when_asked(
    kubectl: Kubectl, operator: MakeOperator, two: str, how: str
) -> None:
    operator_on(operator, kubectl, two)
    pods = serve(kubectl)
    old = fail(kubectl, pods)
    rolled_back(kubectl, pods, old)
    if how == "annotation":
        kubectl.run("annotate", "im", "tiny", "arriero.dev/retry=1")
    else:
        patch_spec(kubectl, "tiny", {"model": {"uri": "hf://org/c"}})
    pods.ready(new_pod(pods, old))
    finish(kubectl, pods)
    assert len(events(kubectl, "tiny", "RolledBack")) == 1


def test_a_retry_that_fails_again_is_given_up_again_and_told_again(
    kubectl: Kubectl, operator: MakeOperator, two: str
) -> None:
    operator_on(operator, kubectl, two)
    pods = serve(kubectl)
    old = fail(kubectl, pods)
    rolled_back(kubectl, pods, old)
    kubectl.run("annotate", "im", "tiny", "arriero.dev/retry=1")
    pods.waiting(new_pod(pods, old), "CrashLoopBackOff", "back-off", END)
    eventually(lambda: len(events(kubectl, "tiny", "RolledBack")) == 2)
    eventually(lambda: len(events(kubectl, "tiny", "ModelNotFound")) == 2)
    rolled_back(kubectl, pods, old)


def record(kubectl: Kubectl, of: Object) -> Object:
    """The ControllerRevision of the pod's revision."""
    return kubectl.only("controllerrevision", f"arriero.dev/revision={revision(of)}")


def test_a_rollout_goes_back_although_somebody_has_deleted_the_record_of_the_last_good_revision(
    kubectl: Kubectl, operator: MakeOperator, two: str
) -> None:
    operator_on(operator, kubectl, two)
    pods = serve(kubectl)
    (old,) = pods.live()
    patch_spec(kubectl, "tiny", OTHER)
    new, before = new_pod(pods, old), record(kubectl, old)
    kubectl.run("delete", "controllerrevision", before["metadata"]["name"])
    eventually(lambda: record(kubectl, old)["metadata"]["uid"] != before["metadata"]["uid"])
    assert record(kubectl, old)["data"] == before["data"]
    pods.waiting(new, "CrashLoopBackOff", "back-off", END)
    rolled_back(kubectl, pods, old)


def test_a_failure_tells_that_there_is_no_going_back_where_nobody_knows_the_last_good_revision_any_more(
    kubectl: Kubectl, operator: MakeOperator, two: str
) -> None:
    process = operator_on(operator, kubectl, two)
    pods = serve(kubectl)
    (old,) = pods.live()
    patch_spec(kubectl, "tiny", OTHER)
    new = new_pod(pods, old)
    process.kill()
    kubectl.run("delete", "controllerrevision", record(kubectl, old)["metadata"]["name"])
    operator_on(operator, kubectl, two, "operator-1")
    pods.waiting(new, "CrashLoopBackOff", "back-off", END)
    found = until(kubectl, "tiny", "Ready", "False", "ModelNotFound", timeout=20)  # the killed one's Lease first
    assert f"no going back to revision {revision(old)}: its record is gone" in found["message"]
    until(kubectl, "tiny", "Available", "True")
    patch_spec(kubectl, "tiny", {"model": {"uri": "hf://org/tiny"}})
    eventually(lambda: [pod["metadata"]["uid"] for pod in pods.live()] == [old["metadata"]["uid"]])
    pods.remove_deleted()
    until(kubectl, "tiny", "Ready", "True", "Ready")


def test_going_back_by_hand_ends_the_matter(kubectl: Kubectl, operator: MakeOperator, two: str) -> None:
    operator_on(operator, kubectl, two)
    pods = serve(kubectl)
    old = fail(kubectl, pods)
    rolled_back(kubectl, pods, old)
    patch_spec(kubectl, "tiny", {"model": {"uri": "hf://org/tiny"}})
    until(kubectl, "tiny", "Ready", "True", "Ready")
    until(kubectl, "tiny", "UpToDate", "True")


def test_without_rollback_the_new_revision_stays(kubectl: Kubectl, operator: MakeOperator, two: str) -> None:
    operator_on(operator, kubectl, two)
    pods = serve(kubectl, rollback=False)
    fail(kubectl, pods)
    until(kubectl, "tiny", "Ready", "False", "ModelNotFound")
    until(kubectl, "tiny", "UpToDate", "False", "RollingOut")
    until(kubectl, "tiny", "Available", "True")
    assert len(pods.live()) == 2


def test_a_revision_that_finds_no_place_after_the_old_pod_has_left_gives_it_back(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    with machine(kubectl, 1) as node:
        operator_on(operator, kubectl, node)
        pods = serve(kubectl, strategy="Replace")
        (old,) = pods.live()
        patch_spec(kubectl, "tiny", {"resources": {"limits": {GPU: 4}}})
        eventually(lambda: revision(old) not in {revision(pod) for pod in pods.live()})

        def back() -> bool:
            play(pods)
            return bool(condition(read(kubectl, "tiny"), "Available")["status"] == "True")

        pods.remove_deleted()
        until(kubectl, "tiny", "UpToDate", "False", "RolledBack", timeout=40)
        eventually(back, 20)
        until(kubectl, "tiny", "Ready", "False", "AcceleratorsNeverFit")
        assert [revision(pod) for pod in pods.live()] == [revision(old)]


def test_an_old_pod_killed_in_the_middle_of_a_rollout_comes_back_serving_what_it_served(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    with machine(kubectl, 3) as node:
        operator_on(operator, kubectl, node)
        pods = serve(kubectl)
        (old,) = pods.live()
        patch_spec(kubectl, "tiny", NEXT)
        new = new_pod(pods, old)
        kubectl.run("delete", "pod", old["metadata"]["name"], "--grace-period=0", "--force", "--wait=false")

        def again() -> Object | None:
            uid = new["metadata"]["uid"]
            found = [pod for pod in pods.live() if pod["metadata"]["uid"] != uid and pod["spec"].get("nodeName")]
            return found[0] if found else None

        successor = eventually(again)
        assert successor is not None
        assert successor["metadata"]["uid"] != old["metadata"]["uid"]
        assert revision(successor) == revision(old)
        (volume,) = [one for one in successor["spec"]["volumes"] if one["name"] == "registrations"]
        assert kubectl.exists("configmap", volume["configMap"]["name"])
        assert successor["spec"]["containers"][0]["args"] == old["spec"]["containers"][0]["args"]
        pods.ready(successor)
        until(kubectl, "tiny", "Available", "True")
        finish(kubectl, pods)


def test_a_failure_that_the_running_runtime_reports_leads_back_too(
    kubectl: Kubectl, operator: MakeOperator, two: str
) -> None:
    operator_on(operator, kubectl, two)
    pods = serve(kubectl)
    (old,) = pods.live()
    with scripted_runtime() as runtime:
        why = Failure("ContextTooLong", "at most 2048 tokens fit", "Set spec.engine.maxModelLen to at most 2048.")
        runtime.status = replace(RuntimeStatus(Phase.FAILED), failure=why)
        patch_spec(kubectl, "tiny", {"engine": {"maxModelLen": 99_999}})
        pods.run(new_pod(pods, old), runtime.ip)
        found = until(kubectl, "tiny", "Ready", "False", "ContextTooLong")
        assert "at most 2048 tokens fit" in found["message"].lower()
        until(kubectl, "tiny", "UpToDate", "False", "RolledBack")
        eventually(lambda: len(pods.live()) == 1)
