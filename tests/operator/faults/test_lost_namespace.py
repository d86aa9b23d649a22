"""One of several watched namespaces goes, with its Role: the others are served on, and it is taken up on its return."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cluster import ControlPlane
from tests.conftest import fresh_namespace
from tests.operator.faults.conftest import SMALL, TUNED, serve
from tests.operator.reconcile.models import model, patch_spec, until
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl
from tests.support.operator import OperatorProcess, operator_kubeconfig, operator_settings

pytestmark = pytest.mark.control_plane

TIMES: Final = {"watching.watches.STREAM": [2, 3], "process.namespaces.LONGEST": 2.0}
"""Watches begin anew every few seconds, and one that is away is looked for as often."""


@pytest.fixture
def second(control_plane: ControlPlane) -> Iterator[Kubectl]:
    """Another namespace."""
    with fresh_namespace(control_plane) as found:
        yield found


@pytest.fixture
def both(kubectl: Kubectl, second: Kubectl, tmp_path: Path) -> Iterator[OperatorProcess]:
    """An operator of both namespaces, with the chart's rights in each, that is not started yet."""
    watched = [kubectl.namespace, second.namespace]
    settings = operator_settings(kubectl.namespace, watchNamespaces=watched)
    settings["profiles"]["nvidia"]["resources"] = SMALL
    kubeconfig = operator_kubeconfig(kubectl, tmp_path, watched=watched)
    process = OperatorProcess(kubectl, tmp_path, settings, kubeconfig, program=TUNED, env={"TUNED": json.dumps(TIMES)})
    yield process
    process.stop()


def grant(kubectl: Kubectl, second: Kubectl, folder: Path) -> None:
    """Make the chart's roles anew, as an upgrade of the release does."""
    operator_kubeconfig(kubectl, folder, watched=[kubectl.namespace, second.namespace])


def remove_roles(second: Kubectl) -> None:
    """As the end of the namespace does."""
    second.run("delete", "rolebinding,role", "--all")


def said(operator: OperatorProcess, message: str) -> list[str]:
    """Of which namespaces it was logged, line by line."""
    return [line["namespace"] for line in operator.lines() if line["message"] == message]


def lost(operator: OperatorProcess) -> str:
    """The series' value."""
    lines = operator.ask("/metrics")[1].splitlines()
    return next((line.split()[1] for line in lines if line.startswith("arriero_namespaces_lost ")), "")


def replicas(kubectl: Kubectl, name: str, count: int) -> None:
    """A change of the model is acted on."""
    patch_spec(kubectl, name, {"replicas": count})
    eventually(lambda: kubectl.json("get", "deployment", name)["spec"]["replicas"] == count)


def test_the_others_are_served_on_and_a_namespace_without_its_role_is_taken_up_once_it_has_it_again(
    both: OperatorProcess, kubectl: Kubectl, second: Kubectl, tmp_path: Path
) -> None:
    both.start()
    both.wait_ready()
    for one in (kubectl, second):
        serve(one)
    second.apply(model("brief"))
    until(second, "brief", "Ready", "True", "Ready", timeout=30)
    remove_roles(second)
    eventually(lambda: lost(both) == "1.0", 30)
    assert said(both, "Namespace lost") == [second.namespace]
    replicas(kubectl, "tiny", 2)
    kubectl.apply(model("later"))
    until(kubectl, "later", "Ready", "True", "Ready", timeout=30)
    # What happens there meanwhile is made up for: a change, an end and a beginning.
    patch_spec(second, "tiny", {"replicas": 2})
    second.run("delete", "im", "brief")
    second.apply(model("fresh"))
    grant(kubectl, second, tmp_path)
    eventually(lambda: said(both, "Namespace is back") == [second.namespace], 30)
    assert lost(both) == "0.0"
    until(second, "fresh", "Ready", "True", "Ready", timeout=30)
    eventually(lambda: second.json("get", "deployment", "tiny")["spec"]["replicas"] == 2)
    # And the watch of models there is a live one.
    replicas(second, "fresh", 2)
    replicas(kubectl, "tiny", 1)
    assert said(both, "Namespace lost") == [second.namespace]
    assert both.ask("/livez")[0] == both.ask("/readyz")[0] == 200
    assert both.stop() == 0


def test_a_namespace_in_which_the_watch_of_models_alone_is_refused_is_lost_and_taken_up_too(
    both: OperatorProcess, kubectl: Kubectl, second: Kubectl, tmp_path: Path
) -> None:
    both.start()
    both.wait_ready()
    (role,) = second.items("role")
    role["rules"] = [rule for rule in role["rules"] if "inferencemodels" not in rule["resources"]]
    second.run("patch", "role", role["metadata"]["name"], "--type=merge", "-p", json.dumps({"rules": role["rules"]}))
    eventually(lambda: said(both, "Namespace lost") == [second.namespace], 30)
    serve(kubectl)
    grant(kubectl, second, tmp_path)
    serve(second)
    replicas(second, "tiny", 2)
    assert said(both, "Namespace lost") == said(both, "Namespace is back") == [second.namespace]


def test_a_namespace_that_is_deleted_and_made_anew_is_served_again(
    both: OperatorProcess, kubectl: Kubectl, second: Kubectl, tmp_path: Path
) -> None:
    both.start()
    both.wait_ready()
    serve(second)
    kubectl.run("delete", "namespace", second.namespace, "--timeout=60s")
    eventually(lambda: said(both, "Namespace lost") == [second.namespace], 30)
    serve(kubectl)
    kubectl.run("create", "namespace", second.namespace)
    eventually(lambda: second.exists("serviceaccount", "default"))
    grant(kubectl, second, tmp_path)
    serve(second)
    replicas(second, "tiny", 2)
    assert said(both, "Namespace is back") == [second.namespace]


def test_a_namespace_that_is_missing_at_the_start_does_not_keep_the_others_from_being_served(
    both: OperatorProcess, kubectl: Kubectl, second: Kubectl, tmp_path: Path
) -> None:
    remove_roles(second)
    both.start()
    both.wait_ready()
    assert said(both, "Namespace lost") == [second.namespace]
    serve(kubectl)
    second.apply(model("tiny"))
    grant(kubectl, second, tmp_path)
    until(second, "tiny", "Ready", "True", "Ready", timeout=30)
    replicas(second, "tiny", 2)
    replicas(kubectl, "tiny", 2)


def test_where_all_namespaces_are_lost_the_operator_ends_and_names_them(
    both: OperatorProcess, kubectl: Kubectl, second: Kubectl
) -> None:
    for one in (kubectl, second):
        one.run("delete", "rolebinding", "--all")
    both.start()
    assert both.wait() == 1
    (end,) = [line["error"] for line in both.lines() if line["message"] == "Operator ends"]
    places = ", ".join(sorted((kubectl.namespace, second.namespace)))
    assert end.startswith(f"the operator may do nothing in {places}: such a namespace is gone")
