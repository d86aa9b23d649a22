"""What the operator learns from runtimes: progress of a start, the pinned commit, proof of changed names."""

import time
from dataclasses import replace

import pytest

from arriero_api.contract import Failure, Phase, Progress, Registrations, RuntimeStatus
from arriero_api.pod import ENDPOINT_DELAY_SECONDS
from tests.cluster import ControlPlane
from tests.conftest import MakeOperator
from tests.operator.reconcile.models import events, model, patch_spec, read, until
from tests.operator.reconcile.pods import Pods
from tests.operator.reconcile.runtime import ScriptedRuntime, scripted_runtime
from tests.support.audit import AuditLog
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object
from tests.support.operator import OperatorProcess

pytestmark = pytest.mark.control_plane

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def registrations(kubectl: Kubectl, name: str = "tiny") -> Registrations:
    """What the model's only ConfigMap says."""
    found = kubectl.only("configmap", f"arriero.dev/model={name}")
    return Registrations.from_json(found["data"]["registrations.json"])


def follow(kubectl: Kubectl, runtime: ScriptedRuntime) -> Registrations:
    """The runtime takes over what the file says now."""
    content = registrations(kubectl)
    names = tuple(one.name for one in content.names)
    runtime.status = replace(runtime.status, registrations=content.hash, names=names)
    return content


def serve(kubectl: Kubectl, runtime: ScriptedRuntime, **spec: object) -> tuple[Pods, Object]:
    """Bring a model of one pod to Ready, with `runtime` answering for it."""
    kubectl.apply(model("tiny", **spec))
    pods = Pods(kubectl, "tiny")
    (pod,) = pods.placed()
    pods.run(pod, runtime.ip)
    runtime.status = RuntimeStatus(Phase.LOADING, commit=COMMIT)
    eventually(lambda: registrations(kubectl).commit == COMMIT)
    runtime.status = RuntimeStatus(Phase.READY, commit=COMMIT, effective={"maxModelLen": 2048, "dtype": "bfloat16"})
    follow(kubectl, runtime)
    pods.ready(pod, runtime.ip)
    until(kubectl, "tiny", "Ready", "True", "Ready")
    return pods, pod


def states(kubectl: Kubectl) -> dict[str, str]:
    """State of each name of the status."""
    return {one["name"]: one["state"] for one in read(kubectl, "tiny")["status"]["names"]}


def effective(kubectl: Kubectl) -> Object:
    """The engine values that the status tells so far."""
    found: Object = read(kubectl, "tiny")["status"]["model"].get("effective", {})
    return found


def test_a_start_tells_its_progress_in_few_writes(
    served: Kubectl, world: OperatorProcess, control_plane: ControlPlane
) -> None:
    log = AuditLog.now(control_plane.audit_log)
    with scripted_runtime() as runtime:
        served.apply(model("tiny"))
        pods = Pods(served, "tiny")
        (pod,) = pods.placed()
        pods.run(pod, runtime.ip)
        seen = []
        for percent in (0, 30, 60, 90):
            runtime.status = RuntimeStatus(Phase.DOWNLOADING, Progress(percent, f"{percent} of 100 MiB"), commit=COMMIT)

            def downloading(percent: int = percent) -> Object:
                progress: Object = read(served, "tiny")["status"]["progress"]
                assert (progress["phase"], progress.get("percent")) == ("Downloading", percent)
                return progress

            seen.append(eventually(downloading, 8)["message"])
        assert seen[-1] == "90 of 100 MiB"
        runtime.status = RuntimeStatus(Phase.LOADING, commit=COMMIT)
        until(served, "tiny", "Ready", "False", "Loading")
        runtime.status = RuntimeStatus(Phase.READY, commit=COMMIT, effective={"maxModelLen": 2048})
        follow(served, runtime)
        pods.ready(pod, runtime.ip)
        until(served, "tiny", "Ready", "True", "Ready")
    status = read(served, "tiny")["status"]
    assert "progress" not in status
    assert status["model"]["revision"] == COMMIT
    writes = [
        one for one in log.writes(world.user) if one.subresource == "status" and one.namespace == served.namespace
    ]
    assert len(writes) <= 20


def test_a_new_alias_is_served_within_two_seconds_by_the_same_pod(served: Kubectl) -> None:
    with scripted_runtime() as runtime:
        pods, pod = serve(served, runtime)
        eventually(lambda: effective(served).get("maxModelLen") == 2048)
        patch_spec(served, "tiny", {"model": {"aliases": ["chat"]}})

        def written() -> bool:
            return [one.name for one in registrations(served).names] == ["tiny", "chat"]

        def annotated() -> bool:
            (now,) = pods.live()
            return bool(now["metadata"]["annotations"].get("arriero.dev/registrations") == registrations(served).hash)

        eventually(written, 1)
        eventually(annotated, 1)
        assert states(served) == {"tiny": "Registered", "chat": "Registering"}
        until(served, "tiny", "NamesRegistered", "False", "Registering")
        follow(served, runtime)
        eventually(lambda: states(served) == {"tiny": "Registered", "chat": "Registered"}, 2)
        until(served, "tiny", "Ready", "True", "Ready")
        (same,) = pods.live()
        assert same["metadata"]["uid"] == pod["metadata"]["uid"]


def test_a_removed_alias_leaves_the_status_first_and_the_pods_after_the_endpoint_delay(served: Kubectl) -> None:
    with scripted_runtime() as runtime:
        serve(served, runtime, model={"uri": "hf://org/tiny", "aliases": ["chat"]})
        before = registrations(served)
        patch_spec(served, "tiny", {"model": {"aliases": []}})
        eventually(lambda: states(served) == {"tiny": "Registered", "chat": "Unregistering"}, 2)
        told = time.monotonic()
        assert registrations(served) == before
        until(served, "tiny", "Ready", "True", "Ready")
        eventually(lambda: [one.name for one in registrations(served).names] == ["tiny"], 15)
        assert time.monotonic() - told >= ENDPOINT_DELAY_SECONDS
        until(served, "tiny", "NamesRegistered", "False", "Registering")
        follow(served, runtime)
        eventually(lambda: states(served) == {"tiny": "Registered"}, 2)
        eventually(lambda: events(served, "tiny", "Unregistered"))


def test_an_operator_that_restarts_keeps_the_time_of_a_name_that_leaves(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    process = operator()
    with scripted_runtime() as runtime:
        serve(kubectl, runtime, model={"uri": "hf://org/tiny", "aliases": ["chat"]})
        patch_spec(kubectl, "tiny", {"model": {"aliases": []}})
        eventually(lambda: states(kubectl) == {"tiny": "Registered", "chat": "Unregistering"}, 2)
        told = time.monotonic()
        process.kill()
        operator(identity="operator-0")
        kubectl.run("annotate", "im", "tiny", "touched=yes")
        eventually(lambda: [one.name for one in registrations(kubectl).names] == ["tiny"], 20)
        assert time.monotonic() - told >= ENDPOINT_DELAY_SECONDS
        follow(kubectl, runtime)
        eventually(lambda: states(kubectl) == {"tiny": "Registered"})


def test_the_values_in_force_are_told_also_of_a_pod_that_was_ready_at_once(served: Kubectl) -> None:
    with scripted_runtime() as runtime:
        served.apply(model("tiny"))
        pods = Pods(served, "tiny")
        (pod,) = pods.placed()
        runtime.status = RuntimeStatus(Phase.LOADING)
        pods.run(pod, runtime.ip)
        until(served, "tiny", "Ready", "False", "Loading")
        pods.ready(pod, runtime.ip)
        until(served, "tiny", "Ready", "True", "Ready")
        content = registrations(served)
        runtime.status = RuntimeStatus(Phase.READY, registrations=content.hash, effective={"maxModelLen": 2048})
        eventually(lambda: effective(served) == {"maxModelLen": 2048})


def test_names_that_no_pod_has_proven_are_not_registered(kubectl: Kubectl, operator: MakeOperator) -> None:
    process = operator()
    with scripted_runtime() as runtime:
        serve(kubectl, runtime)
        patch_spec(kubectl, "tiny", {"model": {"aliases": ["chat"]}})
        eventually(lambda: states(kubectl).get("chat") == "Registering")
        process.stop()
        operator(identity="operator-1")
        asked = runtime.asked
        eventually(lambda: runtime.asked > asked + 3)
        assert states(kubectl)["chat"] == "Registering"
        follow(kubectl, runtime)
        eventually(lambda: states(kubectl)["chat"] == "Registered")


def test_a_runtime_at_rest_is_not_asked(kubectl: Kubectl, operator: MakeOperator) -> None:
    process = operator()
    with scripted_runtime() as runtime:
        serve(kubectl, runtime)
        process.stop()
        asked = runtime.asked
        operator(identity="operator-1")
        kubectl.run("annotate", "im", "tiny", "touched=yes")
        eventually(lambda: process.kubectl.items("leases")[0]["spec"]["holderIdentity"] == "operator-1")
        kubectl.run("label", "im", "tiny", "touched=yes")
        until(kubectl, "tiny", "Ready", "True")
        assert runtime.asked == asked


def test_a_failure_that_the_running_runtime_reports_is_the_reason(served: Kubectl) -> None:
    with scripted_runtime() as runtime:
        failure = Failure("ContextTooLong", "at most 2048 tokens fit", "Set spec.engine.maxModelLen to at most 2048.")
        runtime.status = RuntimeStatus(Phase.FAILED, failure=failure)
        served.apply(model("tiny", engine={"maxModelLen": 9999}))
        pods = Pods(served, "tiny")
        (pod,) = pods.placed()
        pods.run(pod, runtime.ip)
        found = until(served, "tiny", "Ready", "False", "ContextTooLong")
        assert found["message"] == "At most 2048 tokens fit. Set spec.engine.maxModelLen to at most 2048."


def test_pods_on_different_commits_are_not_ready_together(served: Kubectl) -> None:
    with scripted_runtime() as one, scripted_runtime() as other:
        pods, first = serve(served, one)
        served.run("scale", "im/tiny", "--replicas=2")
        (second,) = [pod for pod in pods.placed(2) if pod["metadata"]["uid"] != first["metadata"]["uid"]]
        content = registrations(served)
        other.status = RuntimeStatus(Phase.READY, commit="f" * 40, registrations=content.hash)
        pods.run(second, other.ip)
        eventually(lambda: other.asked)
        pods.ready(second, other.ip)
        found = until(served, "tiny", "Ready", "False", "CommitMismatch")
        assert second["metadata"]["name"] in found["message"]
        # What the first pod resolved is the revision's, whatever the branch has become meanwhile.
        assert registrations(served).commit == read(served, "tiny")["status"]["model"]["revision"] == COMMIT
        # Its container starts anew, and fetches the commit that its file names.
        pods.run(second, other.ip)
        until(served, "tiny", "Ready", "False", "Warming")
        other.status = replace(other.status, commit=COMMIT)
        asked = other.asked
        eventually(lambda: other.asked > asked)
        pods.ready(second, other.ip)
        until(served, "tiny", "Ready", "True", "Ready", timeout=20)


def test_a_name_that_no_pod_can_be_asked_about_says_so(served: Kubectl) -> None:
    served.apply(model("tiny"))
    pods = Pods(served, "tiny")
    (pod,) = pods.placed()
    pods.ready(pod)
    until(served, "tiny", "Ready", "True", "Ready")
    patch_spec(served, "tiny", {"model": {"aliases": ["chat"]}})

    def told() -> bool:
        found = {one["name"]: one for one in read(served, "tiny")["status"]["names"]}
        chat = found.get("chat", {})
        assert chat.get("state") in (None, "Registering")
        return f"No answer on port 8081 of: {pod['metadata']['name']}" in chat.get("message", "")

    eventually(told, 30)
