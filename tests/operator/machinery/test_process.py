"""The operator's process: start, probes, standing by, and every way to end."""

import re
from pathlib import Path

import pytest

from arriero_api import labels
from tests.cluster import ControlPlane
from tests.conftest import MakeOperator
from tests.operator.machinery.test_edge import IDLE, await_more, model, reconciles
from tests.support import used_rights
from tests.support.audit import AuditLog
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.control_plane


def test_probes_and_metrics_answer_and_a_stop_is_clean(operator: MakeOperator, kubectl: Kubectl) -> None:
    running = operator(program=IDLE)
    assert running.ask("/livez") == (200, "ok")
    assert running.ask("/readyz") == (200, "ok")
    kubectl.apply(model("m"))
    await_more(running, "m", 0)
    eventually(lambda: 'arriero_reconciles_total{outcome="success"}' in running.ask("/metrics")[1])
    text = running.ask("/metrics")[1]
    for series in ("arriero_queue_depth 0.0", "arriero_lease_held 1.0", "arriero_cached_objects 1.0"):
        assert series in text
    assert running.stop() == 0
    assert not [line for line in running.lines() if line["level"] in ("error", "critical")], running.tail()


def test_at_rest_nothing_but_the_lease_is_written(
    operator: MakeOperator, kubectl: Kubectl, control_plane: ControlPlane
) -> None:
    running = operator(program=IDLE)
    eventually(lambda: "arriero_lease_held 1.0" in running.ask("/metrics")[1])
    begin = AuditLog.now(control_plane.audit_log)
    eventually(lambda: len(begin.writes(running.user)) >= 3, timeout=15)  # the start's own look around is over
    log = AuditLog.now(control_plane.audit_log)
    eventually(lambda: len(log.writes(running.user)) >= 3, timeout=15)
    assert {write.resource for write in log.writes(running.user)} == {"leases"}
    assert {request.verb for request in log.requests() if request.user == running.user} <= {"patch", "watch", "list"}


def test_a_missing_right_ends_the_start_with_one_line_that_names_it(operator: MakeOperator, kubectl: Kubectl) -> None:
    role = next(r for r in kubectl.items("role") if "lease" not in r["metadata"]["name"])
    for rule in role["rules"]:
        if "services" in rule["resources"]:
            rule["verbs"].remove("patch")
    kubectl.apply(role)
    running = operator(program=IDLE, ready=False)
    assert running.wait() == 1
    said = [line for line in running.lines() if line["level"] == "critical"]
    assert len(said) == 1
    assert f"may not: patch services in namespace {kubectl.namespace}: grant it" in said[0]["error"]


def test_missing_rights_behind_the_charts_switches_are_named_too(operator: MakeOperator, kubectl: Kubectl) -> None:
    running = operator(program=IDLE, ready=False, reads={"secrets": True, "classes": True})
    assert running.wait() == 1
    (said,) = [line["error"] for line in running.lines() if line["level"] == "critical"]
    for right in ("get", "list", "watch"):
        assert f"{right} secrets in namespace {kubectl.namespace}" in said
    for kind in ("priorityclasses.scheduling", "runtimeclasses.node", "storageclasses.storage"):
        assert f"get {kind}.k8s.io in all namespaces" in said


def test_an_api_server_that_is_away_is_waited_for(operator: MakeOperator, kubectl: Kubectl, tmp_path: Path) -> None:
    running = operator(program=IDLE)
    running.stop()
    assert running.kubeconfig is not None
    config = running.kubeconfig.read_text()
    running.kubeconfig.write_text(re.sub(r"https://127\.0\.0\.1:\d+", "https://127.0.0.1:1", config))
    running.start()
    eventually(lambda: any(line["message"] == "API server not reached" for line in running.lines()), timeout=30)
    assert running.ask("/livez") == (200, "ok")
    assert running.ask("/readyz")[0] == 503
    assert running.stop() == 0


def test_wrong_settings_end_the_start_with_one_line_that_names_the_key(operator: MakeOperator) -> None:
    running = operator(program=IDLE, ready=False, workers=0)
    assert running.wait() == 2
    said = [line for line in running.lines() if line["level"] == "critical"]
    assert len(said) == 1
    assert "workers: " in said[0]["error"]


def test_a_second_operator_stands_by_with_warm_caches_and_takes_over_at_once(
    operator: MakeOperator, kubectl: Kubectl
) -> None:
    first = operator(program=IDLE, identity="first")
    kubectl.apply(model("m"))
    await_more(first, "m", 0)
    second = operator(program=IDLE, identity="second")
    eventually(lambda: "arriero_cached_objects 1.0" in second.ask("/metrics")[1])
    assert reconciles(second, "m") == 0
    assert first.stop() == 0
    await_more(second, "m", 0, timeout=5)


def test_after_a_crash_another_takes_over_within_the_leases_time(operator: MakeOperator, kubectl: Kubectl) -> None:
    first = operator(program=IDLE, identity="first")
    second = operator(program=IDLE, identity="second")
    kubectl.apply(model("m"))
    await_more(first, "m", 0)
    first.kill()
    await_more(second, "m", 0, timeout=14)


def test_operators_of_two_installations_lead_beside_each_other(operator: MakeOperator, kubectl: Kubectl) -> None:
    first = operator(program=IDLE, identity="first")
    second = operator(program=(*IDLE, "--lease=canary"), identity="second")
    eventually(lambda: all("arriero_lease_held 1.0" in one.ask("/metrics")[1] for one in (first, second)))
    leases = {lease["metadata"]["name"]: lease["spec"]["holderIdentity"] for lease in kubectl.items("lease")}
    assert leases == {"arriero-operator": "first", "canary": "second"}


def test_the_loss_of_the_lease_ends_the_process(operator: MakeOperator, kubectl: Kubectl) -> None:
    running = operator(program=IDLE)
    eventually(lambda: "arriero_lease_held 1.0" in running.ask("/metrics")[1])
    kubectl.patch("lease", "arriero-operator", {"spec": {"holderIdentity": "somebody-else"}})
    assert running.wait() == 1
    assert "held by somebody-else" in running.lines()[-1]["error"]


def test_a_right_that_is_taken_away_ends_the_process(operator: MakeOperator, kubectl: Kubectl) -> None:
    """A watch that the API server refuses must not go deaf; the next start says what is missing."""
    running = operator(program=IDLE)
    used_rights.bar(kubectl.namespace)
    kubectl.run("delete", "rolebinding", "--all")
    assert running.wait(timeout=90) == 1


def test_an_idle_operator_costs_little_memory(operator: MakeOperator) -> None:
    running = operator(program=IDLE)
    status = Path(f"/proc/{running.pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
    assert resident < 120 * 1024, f"{resident} KiB"


def test_a_models_namespace_that_is_not_watched_is_left_alone(operator: MakeOperator, kubectl: Kubectl) -> None:
    running = operator(program=IDLE)
    elsewhere = kubectl.within("default")
    elsewhere.apply(model("elsewhere"))
    try:
        kubectl.apply(model("here"))
        await_more(running, "here", 0)
        assert not [line for line in running.lines() if line.get("key") == "default/elsewhere"]
    finally:
        elsewhere.run("delete", labels.PLURAL, "elsewhere")
