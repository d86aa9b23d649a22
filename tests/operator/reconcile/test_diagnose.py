"""From the states of pods to one reason with one remedy."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from arriero_api import labels
from arriero_api.contract import Failure, Phase
from arriero_api.reasons import REASONS
from arriero_operator import quantity
from arriero_operator.diagnose.failures import sentence
from arriero_operator.diagnose.model import model_failure
from arriero_operator.diagnose.stage import stage
from arriero_operator.pods.facts import PodFacts, Told
from tests.operator.reconcile.made import NEW, NOT_FOUND, OLD, START, crash, loading, pod, ready, running, seen
from tests.support.kubectl import Object

NO_GPU = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
FULL = f"{NO_GPU} preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
TOO_SMALL = f"{NO_GPU} preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
TAINTED = "0/2 nodes are available: 2 node(s) had untolerated taint {a: b}. preemption: not helpful"
ELSEWHERE = "0/2 nodes are available: 2 node(s) had volume node affinity conflict. preemption: not helpful"
NO_CLAIM = 'persistentvolumeclaim "models" not found. preemption: Preemption is not helpful for scheduling.'


def unschedulable(words: str) -> PodFacts:
    """A pod that the scheduler has tried."""
    return pod(scheduled=False, scheduling_reason="Unschedulable", scheduling_message=words)


def waiting(reason: str, words: str = "the kubelet's words", **facts: Any) -> PodFacts:
    """A pod whose container waits."""
    return pod(waiting=reason, waiting_message=words, **facts)


TYPED = crash(message=NOT_FOUND.to_json())
CASES: dict[str, tuple[PodFacts, str, str]] = {
    "all accelerators are in use": (unschedulable(FULL), "AcceleratorsUnavailable", "Insufficient nvidia.com/gpu"),
    "no node has enough accelerators": (unschedulable(TOO_SMALL), "AcceleratorsNeverFit", "not helpful"),
    "a taint keeps the pod away": (unschedulable(TAINTED), "Unschedulable", "untolerated taint"),
    "the claim does not exist": (unschedulable(NO_CLAIM), "VolumeMountFailed", '"models" not found'),
    "the claim's volume is on another node": (unschedulable(ELSEWHERE), "VolumeMountFailed", "affinity conflict"),
    "a volume cannot be attached": (
        pod(told=Told("FailedAttachVolume", 'Multi-Attach error for volume "models"')),
        "VolumeMountFailed",
        "Multi-Attach",
    ),
    "a volume cannot be mounted": (
        waiting("ContainerCreating", "", told=Told("FailedMount", "MountVolume.SetUp failed")),
        "VolumeMountFailed",
        "SetUp failed",
    ),
    "the network plugin fails": (
        waiting("ContainerCreating", "", told=Told("FailedCreatePodSandBox", "plugin failed (add)")),
        "SandboxFailed",
        "plugin failed",
    ),
    "its node does not report any more": (running(silent_node=True, node="n-1"), "NodeLost", "n-1"),
    "its node was shut down": (
        pod(phase="Failed", phase_reason="Terminated", phase_message="imminent node shutdown"),
        "NodeLost",
        "imminent node shutdown",
    ),
    "its node is gone": (
        pod(phase="Failed", disrupted="DeletionByPodGC: node no longer exists"),
        "NodeLost",
        "no longer exists",
    ),
    "the node refuses it": (
        pod(phase="Failed", phase_reason="UnexpectedAdmissionError", phase_message="Allocate failed"),
        "PodRejected",
        "Allocate failed",
    ),
    "the node has not what the scheduler thought": (
        pod(phase="Failed", phase_reason="OutOfnvidia.com/gpu", phase_message="was 1, now 0"),
        "PodRejected",
        "was 1, now 0",
    ),
    "it failed as a whole without a word": (pod(phase="Failed"), "RuntimeExited", "the pod failed"),
    "the image is absent": (waiting("ErrImagePull", "not found"), "ImagePullFailed", "not found"),
    "the image's name is no name": (waiting("InvalidImageName"), "ImagePullFailed", "the kubelet's words"),
    "the image is never pulled": (waiting("ErrImageNeverPull"), "ImagePullFailed", "the kubelet's words"),
    "a Secret is absent": (
        waiting("CreateContainerConfigError", 'secret "hub" not found'),
        "ContainerConfigInvalid",
        "hub",
    ),
    "the entry point is absent": (waiting("RunContainerError", "no such file"), "ContainerStartFailed", "no such file"),
    "the kernel killed it": (pod(ended=crash("OOMKilled", 137)), "OOMKilled", "memory"),
    "the kernel killed it and it restarts": (running(last_ended=crash("OOMKilled", 137)), "OOMKilled", "memory"),
    "the kernel's word goes before a message": (
        pod(ended=crash("OOMKilled", 137, NOT_FOUND.to_json())),
        "OOMKilled",
        "",
    ),
    "the runtime said why it ended": (pod(ended=TYPED), "ModelNotFound", "the hub knows no repository"),
    "the runtime said why, and waits to restart": (
        waiting("CrashLoopBackOff", "back-off", last_ended=TYPED),
        "ModelNotFound",
        "the hub knows no repository",
    ),
    "it ended without a word": (pod(ended=crash(code=3)), "RuntimeExited", "exit code 3"),
    "it was killed without a word": (pod(ended=crash(code=137)), "RuntimeExited", "137 (killed)"),
    "it ended with words of another kind": (
        pod(ended=crash(message="line one\nTraceback: boom")),
        "RuntimeExited",
        "Traceback: boom",
    ),
    "it runs and says why it does not serve": (
        running(status=loading(Phase.FAILED, found=NOT_FOUND)),
        "ModelNotFound",
        "",
    ),
    "a newer runtime's reason": (
        running(status=loading(Phase.FAILED, found=Failure("FluxFailed", "words", "do this"))),
        "EngineFailed",
        "FluxFailed: words",
    ),
    "the node ran out of disk": (
        pod(phase="Failed", phase_reason="Evicted", phase_message="The node was low on resource: ephemeral-storage."),
        "Evicted",
        "ephemeral-storage",
    ),
}


@pytest.mark.parametrize("words", [FULL, TOO_SMALL, TAINTED], ids=["in use", "too few", "tainted"])
@pytest.mark.parametrize(
    "promise", [{"told": Told(node_coming=True)}, {"nominated": "n-1"}], ids=["Event", "nominated"]
)
def test_a_pod_that_has_been_promised_a_node_waits_for_it_and_nothing_is_wrong(words: str, promise: Object) -> None:
    found = replace(unschedulable(words), **promise)
    assert model_failure([found], NEW, 1, None) is None
    assert stage([found], NEW).phase == "Scheduling"
    assert stage([found], NEW).message == "waiting for the node that it has been promised"


def test_a_promised_node_does_not_hide_a_claim_that_is_not_there() -> None:
    said = model_failure([replace(unschedulable(NO_CLAIM), told=Told(node_coming=True))], NEW, 1, None)
    assert said is not None
    assert said.reason == "VolumeMountFailed"


@pytest.mark.parametrize("words", [FULL, TOO_SMALL, TAINTED], ids=["in use", "too few", "tainted"])
def test_a_pod_without_a_node_is_told_with_what_it_asks_for(words: str) -> None:
    asks = {"cpu": "1500m", "memory": "1536Mi", "nvidia.com/gpu": "4", "ephemeral-storage": "1G"}
    holds = {name: quantity.parse(amount) for name, amount in asks.items()}
    said = model_failure([replace(unschedulable(words), holds=holds)], NEW, 1, None)
    assert said is not None
    told = "; the pod asks for nvidia.com/gpu 4, cpu 1500m, ephemeral-storage 1000000000, memory 1536Mi"
    assert said.message == words.rstrip(".") + told


@pytest.mark.parametrize(("found", "reason", "words"), CASES.values(), ids=CASES)
def test_the_reason_when(found: PodFacts, reason: str, words: str) -> None:
    said = model_failure([found], NEW, 1, None)
    assert said is not None
    assert said.reason == reason
    assert words in said.message
    assert said.remedy
    assert said.reason in REASONS


def test_a_pod_that_no_node_takes_names_the_field_with_what_it_asks_for() -> None:
    found = model_failure([unschedulable("0/2 nodes are available: 2 Insufficient cpu.")], NEW, 1, None)
    assert found is not None
    assert "spec.resources.requests" in found.remedy


HEALTHY = {
    "it waits for the scheduler": pod(scheduled=False),
    "the image is being pulled": waiting("ContainerCreating", ""),
    "it loads": running(status=loading(Phase.LOADING)),
    "it restarts after a clean stop": running(last_ended=crash("Completed", 0)),
    "it was ready since its last start": running(
        last_ended=crash("OOMKilled", 137), ready_changed=START + timedelta(minutes=5)
    ),
    "it is ready after a crash": ready(last_ended=crash("OOMKilled", 137)),
    "its sandbox is there by now": running(told=Told("FailedMount", "MountVolume.SetUp failed")),
    "its image is pulled after a mount that failed first": waiting(
        "ContainerCreating", "", sandboxed=True, told=Told("FailedMount", "MountVolume.SetUp failed")
    ),
    "it is being deleted": pod(deleting=True, ended=crash(code=1)),
}


@pytest.mark.parametrize("found", HEALTHY.values(), ids=HEALTHY)
def test_nothing_is_wrong_when(found: PodFacts) -> None:
    assert model_failure([found], NEW, 1, None) is None


def test_back_off_does_not_change_what_is_said() -> None:
    words = "dial tcp: lookup registry: no such host"
    first = model_failure([waiting("ErrImagePull", words, image="r/i:1")], NEW, 1, None)
    backing_off = f'Back-off pulling image "r/i:1": ErrImagePull: {words}'
    then = model_failure([waiting("ImagePullBackOff", backing_off, image="r/i:1")], NEW, 1, None)
    assert first == then


def test_a_failed_pull_names_the_image_once() -> None:
    for words in ("dial tcp: no such host", 'failed to pull image "r/i:1": not found'):
        found = model_failure([waiting("ErrImagePull", words, image="r/i:1")], NEW, 1, None)
        assert found is not None
        assert found.message.count("r/i:1") == 1


@pytest.mark.parametrize("words", ["token hf_abcdefghijkl was refused", "https://user:pass1234@registry/v2: denied"])
def test_no_secret_in_anybodys_words_reaches_the_resource(words: str) -> None:
    for found in (pod(last_ended=crash(message=words)), waiting("CreateContainerError", words)):
        failure = model_failure([found], NEW, 1, None)
        assert failure is not None
        said = sentence(failure)
        assert "hf_abcdefghijkl" not in said and "pass1234" not in said
        assert "[hidden]" in said


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("the node evicted the pod", "The node evicted the pod."),
        ("vLLM does not know these arguments: --x", "vLLM does not know these arguments: --x."),
        ("sharedMemory is 1Gi", "sharedMemory is 1Gi."),
        ("tensorParallelSize 4 needs 4 accelerators", "tensorParallelSize 4 needs 4 accelerators."),
        ("config.json is no JSON", "config.json is no JSON."),
        ("--dtype is unknown", "--dtype is unknown."),
    ],
)
def test_a_sentence_begins_with_a_capital_but_a_name_keeps_its_spelling(message: str, said: str) -> None:
    assert sentence(Failure("EngineFailed", message, "Do this.")) == f"{said} Do this."


def test_credentials_in_an_address_are_left_out() -> None:
    found = model_failure(
        [waiting("ErrImagePull", "pull https://user:secret@registry.example.com/i failed")], NEW, 1, None
    )
    assert found is not None
    assert "user:secret" not in sentence(found)


def test_only_pods_of_the_wanted_revision_speak_for_it() -> None:
    failing = pod("a", OLD, ended=crash("OOMKilled", 137))
    assert model_failure([failing, running("b")], NEW, 1, None) is None


def test_a_quota_is_told_where_there_is_no_pod() -> None:
    words = 'pods "tiny-x" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1'
    condition = {"type": "ReplicaFailure", "status": "True", "message": words}
    found = model_failure([], NEW, 1, {"status": {"conditions": [condition]}})
    assert found is not None
    assert found.reason == "QuotaExceeded"


def test_an_evicted_pod_is_forgotten_when_its_successor_is_ready() -> None:
    evicted = pod(phase="Failed", phase_reason="Evicted", phase_message="low on memory")
    assert model_failure([evicted, ready("b")], NEW, 1, None) is None


def test_the_remedy_survives_a_long_message() -> None:
    text = sentence(Failure("EngineFailed", "x" * 5000, "Do this."))
    assert len(text) <= 1024
    assert text.endswith("… Do this.")


@pytest.mark.parametrize(
    ("pods", "phase", "percent"),
    [
        ([], "Scheduling", None),
        ([pod(scheduled=False)], "Scheduling", None),
        ([pod(waiting="ContainerCreating")], "StartingContainer", None),
        ([running()], "StartingContainer", None),
        ([running(status=loading(Phase.DOWNLOADING, 42))], "Downloading", 42),
        ([running(status=loading(Phase.DOWNLOADING, 420))], "Downloading", 100),
        ([running("a", status=loading(Phase.WARMING)), running("b", status=loading(Phase.LOADING))], "Loading", None),
        ([ready("a"), running("b", status=loading(Phase.WARMING))], "Warming", None),
    ],
)
def test_the_stage_is_that_of_the_pod_furthest_behind(pods: list[PodFacts], phase: str, percent: int | None) -> None:
    found = stage(pods, NEW)
    assert (found.phase, found.percent) == (phase, percent)
    assert found.phase in REASONS


def test_facts_are_read_from_a_pod_as_the_api_server_gives_it() -> None:
    found = seen(
        {
            "metadata": {
                "name": "tiny-1",
                "uid": "u",
                "creationTimestamp": "2026-01-01T12:00:00Z",
                "labels": {"arriero.dev/revision": "abc"},
            },
            "spec": {"nodeName": "n"},
            "status": {
                "phase": "Running",
                "podIP": "10.0.0.1",
                "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T12:00:01Z"}],
                "containerStatuses": [
                    {
                        "name": "runtime",
                        "state": {"running": {"startedAt": "2026-01-01T12:00:02Z"}},
                        "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
                    }
                ],
            },
        }
    )
    assert (found.revision, found.ip, found.scheduled, found.ready) == ("abc", "10.0.0.1", True, False)
    assert found.last_ended == crash("OOMKilled", 137)
    assert not found.was_ready_since_start


RUNNING = {"name": "runtime", "ready": True, "state": {"running": {"startedAt": "2026-01-01T12:00:02Z"}}}
LOOPS = {"waiting": {"reason": "CrashLoopBackOff"}}
BROKEN = {"terminated": {"exitCode": 3, "reason": "Error", "message": "no route to the mirror"}}
INITIALIZING = {"name": "runtime", "ready": False, "state": {"waiting": {"reason": "PodInitializing"}}}
PULL = {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}
OTHERS: dict[str, tuple[Object, str, str]] = {
    "an init container fails": (
        {"initContainerStatuses": [{"name": "fetch", "state": BROKEN}], "containerStatuses": [INITIALIZING]},
        "RuntimeExited",
        "container 'fetch': the container ended with exit code 3: no route to the mirror",
    ),
    "an init container fails again and again": (
        {
            "initContainerStatuses": [
                {"name": "first", "ready": True, "state": {"terminated": {"exitCode": 0}}},
                {"name": "fetch", "state": LOOPS, "lastState": BROKEN},
            ],
            "containerStatuses": [INITIALIZING],
        },
        "RuntimeExited",
        "container 'fetch'",
    ),
    "an init container is killed for its memory": (
        {
            "initContainerStatuses": [
                {"name": "fetch", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}
            ]
        },
        "OOMKilled",
        "container 'fetch'",
    ),
    "an init container's image is absent": (
        {"initContainerStatuses": [{"name": "fetch", "image": "r/i:1", "state": PULL}]},
        "ImagePullFailed",
        "container 'fetch': image r/i:1: not found",
    ),
    "a container beside the runtime fails": (
        {"containerStatuses": [{"name": "mesh", "ready": False, "state": LOOPS, "lastState": BROKEN}, RUNNING]},
        "RuntimeExited",
        "container 'mesh'",
    ),
}


def other(status: Object) -> PodFacts:
    """A pod with a node and this status, whose conditions say that it is not ready."""
    marks = {labels.REVISION: NEW}
    metadata = {"name": "a", "uid": "u", "creationTimestamp": "2026-01-01T12:00:00Z", "labels": marks}
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T12:00:01Z"}
    return seen({"metadata": metadata, "spec": {"nodeName": "n"}, "status": {"conditions": [ready], **status}})


@pytest.mark.parametrize(("status", "reason", "words"), OTHERS.values(), ids=OTHERS)
def test_another_container_is_named_with_where_it_is_mended_when(status: Object, reason: str, words: str) -> None:
    found = model_failure([other(status)], NEW, 1, None)
    assert found is not None
    assert found.reason == reason
    assert words in found.message
    assert "podTemplate" in found.remedy


def test_a_container_beside_the_runtime_does_not_speak_for_one_that_has_failed_itself() -> None:
    crashed = {"name": "runtime", "ready": False, "state": BROKEN}
    mesh = {"name": "mesh", "ready": False, "state": LOOPS, "lastState": BROKEN}
    found = model_failure([other({"containerStatuses": [mesh, crashed]})], NEW, 1, None)
    assert found is not None
    assert "mesh" not in found.message


def test_an_init_container_that_runs_is_no_failure() -> None:
    fetching = {"name": "fetch", "state": {"running": {}}, "lastState": {}}
    assert model_failure([other({"initContainerStatuses": [fetching]})], NEW, 1, None) is None


def test_only_the_control_plane_takes_ready_from_a_pod_and_leaves_its_containers_ready() -> None:
    lost = {"conditions": [{"type": "Ready", "status": "False"}, {"type": "ContainersReady", "status": "True"}]}
    assert other(lost).silent_node
    lost["conditions"][1]["status"] = "False"
    assert not other(lost).silent_node
