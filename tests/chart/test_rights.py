"""What the chart lets the operator do: enough, and no more."""

from itertools import chain
from typing import Any

import pytest

from arriero_operator.configuration.limits import Reads
from arriero_operator.process.rights import rights
from tests.chart.rendering import NAMESPACE, Rendered, render

Rule = dict[str, Any]

CLUSTER_WIDE = render()
NAMED = render({"watchNamespaces": ["team-a", "team-b"]})


def _roles(rendered: Rendered) -> list[dict[str, Any]]:
    return [*rendered.of("ClusterRole"), *rendered.of("Role")]


def _granted(rendered: Rendered) -> set[tuple[str, str, str]]:
    """All (group, resource, verb)."""
    rules = chain.from_iterable(role["rules"] for role in _roles(rendered))
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("rendered", [CLUSTER_WIDE, NAMED], ids=["all namespaces", "named namespaces"])
def test_no_right_is_a_wildcard(rendered: Rendered) -> None:
    assert not [right for right in _granted(rendered) if "*" in "".join(right)]


@pytest.mark.parametrize("rendered", [CLUSTER_WIDE, NAMED], ids=["all namespaces", "named namespaces"])
@pytest.mark.parametrize(
    "resource", ["secrets", "pods/exec", "pods/log", "pods/attach", "pods/portforward", "roles", "clusterroles"]
)
def test_the_operator_has_no_right_on(rendered: Rendered, resource: str) -> None:
    assert resource not in {right[1] for right in _granted(rendered)}


def test_the_chart_grants_exactly_what_the_operator_checks_at_its_start() -> None:
    needed = {
        (right.group, "/".join(filter(None, (right.resource, right.subresource))), right.verb)
        for right in rights((), NAMESPACE)
    }
    assert _granted(CLUSTER_WIDE) == needed


@pytest.mark.parametrize("values", [{"secrets": True}, {"classes": True}, {"secrets": True, "classes": True}], ids=str)
@pytest.mark.parametrize("namespaces", [[], ["team-a"]], ids=["all namespaces", "named namespaces"])
def test_each_further_look_grants_exactly_its_reads(values: dict[str, bool], namespaces: list[str]) -> None:
    rendered = render({"reads": values, "watchNamespaces": namespaces})
    more = _granted(rendered) - _granted(CLUSTER_WIDE)
    needed = {(right.group, right.resource, right.verb) for right in rights((), NAMESPACE, Reads(**values))}
    checked = {(right.group, right.resource, right.verb) for right in rights((), NAMESPACE)}
    assert more == needed - checked
    assert {right[2] for right in more} <= {"get", "list", "watch"}
    assert "secrets" in {right[1] for right in more} or not values.get("secrets")


def test_the_operator_cannot_write_a_models_spec_or_make_models_and_pods() -> None:
    writes = {"create", "update", "patch", "delete", "deletecollection"}
    granted = _granted(CLUSTER_WIDE)
    assert not {right for right in granted if right[1] == "inferencemodels" and right[2] in writes}
    assert {right[2] for right in granted if right[1] == "pods"} & writes == {"patch", "delete"}


def test_only_children_that_can_become_surplus_may_be_deleted_and_no_event_may_be_changed() -> None:
    granted = _granted(CLUSTER_WIDE)
    assert {right[1] for right in granted if right[2] == "delete"} == {
        "configmaps",
        "controllerrevisions",
        "networkpolicies",
        "poddisruptionbudgets",
        "pods",
        "services",
    }
    assert {right[2] for right in granted if right[1] == "events"} == {"create", "list"}
    assert {right[2] for right in granted if right[1] == "pods"} == {"get", "list", "watch", "patch", "delete"}


def test_both_ways_to_install_grant_the_same_in_a_watched_namespace() -> None:
    assert _granted(CLUSTER_WIDE) == _granted(NAMED)
    by_namespace = {role["metadata"]["namespace"]: role["rules"] for role in NAMED.of("Role")}
    assert by_namespace["team-a"] == by_namespace["team-b"] == CLUSTER_WIDE.one("ClusterRole")["rules"]


def test_named_namespaces_need_no_cluster_role() -> None:
    assert not NAMED.of("ClusterRole")
    assert not NAMED.of("ClusterRoleBinding")
    assert sorted(role["metadata"]["namespace"] for role in NAMED.of("Role")) == [NAMESPACE, "team-a", "team-b"]


def test_leases_are_granted_in_the_release_namespace_alone() -> None:
    with_leases = [role for role in _roles(CLUSTER_WIDE) if "leases" in str(role["rules"])]
    assert [(role["kind"], role["metadata"]["namespace"]) for role in with_leases] == [("Role", NAMESPACE)]


@pytest.mark.parametrize("rendered", [CLUSTER_WIDE, NAMED], ids=["all namespaces", "named namespaces"])
def test_every_role_is_bound_to_the_operators_account_alone(rendered: Rendered) -> None:
    account = rendered.one("ServiceAccount")["metadata"]["name"]
    bindings = [*rendered.of("ClusterRoleBinding"), *rendered.of("RoleBinding")]
    bound = {(b["roleRef"]["kind"], b["roleRef"]["name"], b["metadata"].get("namespace")) for b in bindings}
    assert bound == {(r["kind"], r["metadata"]["name"], r["metadata"].get("namespace")) for r in _roles(rendered)}
    for binding in bindings:
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}]
