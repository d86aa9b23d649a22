"""Monitors are made on request, and only where the cluster knows them."""

import pytest

from tests.chart.rendering import NAMESPACE, ChartError, render

ENABLED = {"podMonitor": {"enabled": True, "labels": {"release": "prometheus"}}}
MONITORING = "monitoring.coreos.com/v1"


def test_no_monitor_is_made_by_default() -> None:
    assert not render(apis=[MONITORING]).of("PodMonitor")


def test_monitors_on_a_cluster_without_their_crd_are_refused_naming_the_value() -> None:
    with pytest.raises(ChartError, match=r"podMonitor\.enabled"):
        render(ENABLED)


def test_monitors_cover_the_operator_and_all_model_pods() -> None:
    rendered = render(ENABLED, apis=[MONITORING])
    operator, models = rendered.of("PodMonitor")
    labels = rendered.pod["metadata"]["labels"]
    assert operator["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert [endpoint["port"] for endpoint in operator["spec"]["podMetricsEndpoints"]] == ["http"]
    assert models["spec"]["namespaceSelector"] == {"any": True}
    assert models["spec"]["selector"]["matchLabels"] == {"arriero.dev/serving": "true"}
    assert [endpoint["port"] for endpoint in models["spec"]["podMetricsEndpoints"]] == ["control"]
    assert all(monitor["metadata"]["labels"]["release"] == "prometheus" for monitor in (operator, models))
    assert all(monitor["metadata"]["namespace"] == NAMESPACE for monitor in (operator, models))


def test_monitors_look_into_watched_namespaces_alone() -> None:
    rendered = render({**ENABLED, "watchNamespaces": ["team-a"]}, apis=[MONITORING])
    assert rendered.of("PodMonitor")[1]["spec"]["namespaceSelector"] == {"matchNames": ["team-a"]}
