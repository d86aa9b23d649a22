"""Class E of the field cases: installing, rights, security levels, placement, secrets."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.rendering import CHART, NAMESPACE, render
from tests.cluster import ControlPlane
from tests.conftest import MakeOperator
from tests.operator.reconcile.conftest import _new_namespace, _remove
from tests.operator.reconcile.models import events, model, patch_spec, read, until
from tests.operator.reconcile.pods import Pods
from tests.operator.reconcile.test_control_plane import serve
from tests.support.audit import AuditLog
from tests.support.kubectl import Kubectl, KubectlError, Object
from tests.support.operator import operator_settings

pytestmark = pytest.mark.control_plane

SENTINEL = "hf_SENTINEL0123456789abcdef"


@pytest.fixture
def second(control_plane: ControlPlane) -> Iterator[Kubectl]:
    """Another namespace."""
    kubectl = _new_namespace(control_plane)
    yield kubectl
    _remove(kubectl)


def nvidia(kubectl: Kubectl, **changes: Any) -> dict[str, Any]:
    """The chart's profiles with these changes of the default one."""
    profiles: dict[str, Any] = operator_settings(kubectl.namespace)["profiles"]
    profiles["nvidia"] |= changes
    return profiles


def grant(kubectl: Kubectl, other: Kubectl) -> None:
    """The chart's rights in the second of two watched namespaces, for the operator's account in the first."""
    rendered = render({"watchNamespaces": [kubectl.namespace, other.namespace]})
    for obj in [*rendered.of("Role"), *rendered.of("RoleBinding")]:
        if obj["metadata"]["namespace"] == other.namespace:
            for subject in obj.get("subjects", ()):
                subject["namespace"] = kubectl.namespace
            other.apply(obj)


def test_e01_two_named_namespaces_are_served_live_and_no_request_is_denied(
    kubectl: Kubectl, second: Kubectl, operator: MakeOperator, control_plane: ControlPlane
) -> None:
    log = AuditLog.now(control_plane.audit_log)
    grant(kubectl, second)
    process = operator(watchNamespaces=[kubectl.namespace, second.namespace])
    for one in (kubectl, second):
        serve(one)
        patch_spec(one, "tiny", {"model": {"aliases": ["chat"]}})
        until(one, "tiny", "NamesRegistered", "False", "Registering")
        one.run("delete", "im", "tiny", "--timeout=10s")
    mine = [request for request in log.requests() if request.user == process.user]
    assert mine
    assert [request for request in mine if request.code in (401, 403)] == []
    assert {request.namespace for request in mine} <= {"", kubectl.namespace, second.namespace}


def test_e03_a_default_model_is_admitted_where_the_restricted_level_is_enforced(served: Kubectl) -> None:
    level = "pod-security.kubernetes.io/enforce"
    served.run("label", "namespace", served.namespace, f"{level}=restricted", f"{level}-version=latest")
    try:
        serve(served)
    finally:
        served.run("label", "namespace", served.namespace, f"{level}-", f"{level}-version-")


def test_e04_a_token_from_a_secret_shows_nowhere(kubectl: Kubectl, operator: MakeOperator) -> None:
    kubectl.run("create", "secret", "generic", "hf", f"--from-literal=HF_TOKEN={SENTINEL}")
    process = operator()
    token = {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "HF_TOKEN"}}}
    source = {"uri": "hf://org/tiny", "credentials": {"secretName": "hf"}}
    kubectl.apply(model("tiny", model=source, engine={"env": [token]}))
    pods = Pods(kubectl, "tiny")
    (pod,) = pods.placed()
    assert token in pod["spec"]["containers"][0]["env"]
    pods.waiting(pod, "ErrImagePull", f"pull https://user:{SENTINEL}@registry.example.com/i failed")
    until(kubectl, "tiny", "Ready", "False", "ImagePullFailed")
    patch_spec(kubectl, "tiny", {"engine": {"env": [token], "args": ["--hf-token=x"]}})
    found = until(kubectl, "tiny", "Ready", "False", "EngineFlagOwned")
    assert "spec.model.credentials" in found["message"]
    kinds = "im,deployments,configmaps,controllerrevisions,services,jobs"
    told = [kubectl.run("get", kinds, "-o", "yaml"), process.log.read_text(), process.ask("/metrics")[1]]
    told.append(json.dumps(events(kubectl, "tiny")))
    told.append(json.dumps([pod["spec"] for pod in pods.all()]))
    assert all(told)
    assert not [text for text in told if SENTINEL in text]


def test_e09_placement_of_the_profile_reaches_model_pods_and_the_schedulers_words_the_user(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists"}
    pool = kubectl.namespace[:20].strip("-")
    term = {"matchExpressions": [{"key": "pool", "operator": "In", "values": [pool]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    operator(
        profiles=nvidia(
            kubectl,
            nodeSelector={"pool": pool},
            tolerations=[toleration],
            affinity=affinity,
            topologySpreadConstraints=[spread],
            priorityClassName="system-cluster-critical",
        )
    )
    kubectl.apply(model("tiny"))
    found = until(kubectl, "tiny", "Scheduled", "False", "Unschedulable")
    assert "didn't match Pod's node affinity/selector" in found["message"]
    assert "Unschedulable" in kubectl.run("get", "im", "tiny")
    (pod,) = Pods(kubectl, "tiny").live()
    assert toleration in pod["spec"]["tolerations"]
    assert pod["spec"]["affinity"] == affinity
    assert pod["spec"]["topologySpreadConstraints"] == [
        spread | {"labelSelector": {"matchLabels": {"arriero.dev/model": "tiny"}}}
    ]
    assert pod["spec"]["priority"] == 2_000_000_000
    kubectl.run("label", "node", "fake-1", f"pool={pool}", "--overwrite")
    try:
        until(kubectl, "tiny", "Scheduled", "True", timeout=20)
    finally:
        kubectl.run("label", "node", "fake-1", "pool-")


@pytest.mark.parametrize(
    ("placement", "reason", "words"),
    [
        ({"runtimeClassName": "absent"}, "ChildDenied", 'RuntimeClass "absent" not found'),
        ({"priorityClassName": "absent"}, "ChildDenied", "no PriorityClass with name absent was found"),
        ({"topologySpreadConstraints": [{"maxSkew": 0}]}, "ChildRefused", "topologySpreadConstraints[0].maxSkew"),
    ],
    ids=["runtime class", "priority class", "spread"],
)
def test_e09_placement_that_cannot_be_is_told_in_the_words_of_the_api_server(
    kubectl: Kubectl, operator: MakeOperator, placement: dict[str, Any], reason: str, words: str
) -> None:
    operator(profiles=nvidia(kubectl, **placement))
    kubectl.apply(model("tiny"))
    found = until(kubectl, "tiny", "Ready", "False", reason, timeout=20)
    assert words in found["message"]


def test_e10_model_pods_have_the_pull_secrets_of_their_namespaces_default_account(served: Kubectl) -> None:
    secrets = [{"name": "team-regcred"}]
    served.patch("serviceaccount", "default", {"imagePullSecrets": secrets})
    try:
        served.apply(model("tiny"))
        (pod,) = Pods(served, "tiny").placed()
        assert pod["spec"]["imagePullSecrets"] == secrets
    finally:
        served.patch("serviceaccount", "default", {"imagePullSecrets": None})


def test_e10_pull_secrets_of_the_profile_are_those_of_model_pods(kubectl: Kubectl, operator: MakeOperator) -> None:
    operator(profiles=nvidia(kubectl, imagePullSecrets=[{"name": "regcred"}]))
    kubectl.apply(model("tiny"))
    pods = Pods(kubectl, "tiny")
    (pod,) = pods.placed()
    assert pod["spec"]["imagePullSecrets"] == [{"name": "regcred"}]
    pods.waiting(pod, "ErrImagePull", 'failed to pull image "runtime:1": 401 Unauthorized')
    found = until(kubectl, "tiny", "Ready", "False", "ImagePullFailed")
    assert "imagePullSecrets" in found["message"]


def test_e10_pull_secrets_of_the_chart_are_those_of_the_operators_pod() -> None:
    secrets: list[Object] = [{"name": "regcred"}]
    assert render({"imagePullSecrets": secrets}).pod["spec"]["imagePullSecrets"] == secrets


def test_e07_an_upgrade_and_a_downgrade_keep_the_models_and_an_unknown_field_is_refused(tmp_path: Path) -> None:
    plane = ControlPlane.start(f"case-{os.getpid()}")
    try:
        kubectl = Kubectl(plane.bin, plane.kubeconfig)
        kubectl.run("create", "namespace", NAMESPACE)
        newer, wished = _newer_chart(tmp_path / "arriero"), model("tiny", newField=1)
        _upgrade(kubectl, CHART)
        with pytest.raises(KubectlError, match=r'unknown field "spec\.newField"'):
            kubectl.apply(wished)
        _upgrade(kubectl, newer)
        kubectl.apply(wished)
        assert read(kubectl, "tiny")["spec"]["newField"] == 1
        _upgrade(kubectl, CHART)
        patch_spec(kubectl, "tiny", {"replicas": 2})
        assert read(kubectl, "tiny")["spec"]["replicas"] == 2
        assert "newField" not in read(kubectl, "tiny")["spec"]
        said = _helm(kubectl, "uninstall", "arriero")
        assert "inferencemodels.arriero.dev" in said
        assert kubectl.exists("im", "tiny")
    finally:
        plane.stop()


def _newer_chart(folder: Path) -> Path:
    """The chart as it would be with one more field in the spec."""
    shutil.copytree(CHART, folder)
    template = folder / "templates" / "crd.yaml"
    first, *body, last = template.read_text().splitlines()
    crd = yaml.safe_load("\n".join(body))
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["newField"] = {"type": "integer"}
    template.write_text("\n".join([first, yaml.safe_dump(crd), last]))
    return folder


def _upgrade(kubectl: Kubectl, chart: Path) -> None:
    _helm(kubectl, "upgrade", "arriero", str(chart), "--install", "--wait", "--timeout=60s")


def _helm(kubectl: Kubectl, *arguments: str) -> str:
    command = [str(kubectl.bin / "helm"), *arguments, f"--namespace={NAMESPACE}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=kubectl.env)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
