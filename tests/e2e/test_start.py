"""From `kubectl apply` to an answer, as a user sees it."""

import pytest

from tests.demo.install import Stage
from tests.e2e.conftest import Start, dump
from tests.support.kubectl import Kubectl, condition

pytestmark = [pytest.mark.node, pytest.mark.engine]

QUESTION = "What is the capital of France?"
PHASES = ["Resolving", "Downloading", "Loading", "Warming"]


def _progress(start: Start) -> list[tuple[str, int | None]]:
    found = [obj.get("status", {}).get("progress") for obj in start.seen]
    return [(p["phase"], p.get("percent")) for p in found if p]


def test_a_pod_gets_a_real_answer_through_the_service_name(stage: Stage, smollm2: Start) -> None:
    assert "Paris" in stage.client.call("ask", smollm2.url, "smollm2", QUESTION)["answer"]


def test_the_download_is_seen_growing_and_then_the_loading(smollm2: Start) -> None:
    progress = _progress(smollm2)
    percents = [percent for phase, percent in progress if phase == "Downloading" and percent is not None]
    assert len(percents) >= 3 and percents == sorted(percents) and percents[0] < percents[-1], progress
    order = [phase for phase, _ in progress if phase in PHASES]
    assert order == sorted(order, key=PHASES.index), progress
    assert "Loading" in order, progress


def test_progress_is_gone_when_the_model_is_ready(smollm2: Start) -> None:
    last = smollm2.seen[-1]
    assert condition(last, "Ready")["status"] == "True"
    assert "progress" not in last["status"], dump(last)


def test_a_whole_start_takes_at_most_twenty_status_writes(smollm2: Start) -> None:
    writes = [w for w in smollm2.writes if w.resource == "inferencemodels" and w.subresource == "status"]
    assert 0 < len(writes) <= 20


def test_ready_is_never_said_before_the_pod_is_ready(smollm2: Start) -> None:
    for obj in smollm2.seen:
        if condition(obj, "Ready").get("status") == "True":
            assert obj["status"]["readyReplicas"] == 1, dump(obj)


def test_the_columns_tell_model_state_replicas_and_address(smollm2: Start, kubectl: Kubectl) -> None:
    header, row = kubectl.run("get", "im", "smollm2").splitlines()
    assert header.split() == ["NAME", "MODEL", "READY", "REASON", "PROGRESS", "REPLICAS", "URL", "AGE", "MESSAGE"]
    assert "hf://HuggingFaceTB/SmolLM2-135M-Instruct" in row
    assert f"http://smollm2.{kubectl.namespace}.svc" in row


def test_the_pinned_commit_is_told(smollm2: Start) -> None:
    assert len(smollm2.seen[-1]["status"]["model"]["revision"]) == 40


def test_model_pods_have_no_service_account_token(smollm2: Start, kubectl: Kubectl) -> None:
    pods = kubectl.items("pods", "arriero.dev/model=smollm2")
    assert pods
    for pod in pods:
        mounts = [m["mountPath"] for c in pod["spec"]["containers"] for m in c.get("volumeMounts", ())]
        assert "/var/run/secrets/kubernetes.io/serviceaccount" not in mounts
