"""The CRD comes and is upgraded with the chart, and outlives it."""

from pathlib import Path

import yaml

from tests.chart.rendering import CHART, NAMESPACE, helm, render

GENERATED = Path(__file__).parents[2] / "crds" / "arriero.dev_inferencemodels.yaml"


def test_uninstalling_keeps_the_crd_and_so_every_model() -> None:
    crd = render().one("CustomResourceDefinition")
    assert crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_the_chart_installs_the_generated_crd() -> None:
    crd = render().one("CustomResourceDefinition")
    assert crd["spec"] == yaml.safe_load(GENERATED.read_text())["spec"]


def test_the_crd_can_be_left_to_somebody_with_more_rights() -> None:
    values = {"crds": {"install": False}, "watchNamespaces": ["team-a"]}
    kinds = {obj["kind"] for obj in render(values).objects}
    assert not kinds & {"CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"}


def test_the_notes_say_what_comes_next_and_what_uninstalling_keeps() -> None:
    notes = helm("install", "arriero", str(CHART), f"--namespace={NAMESPACE}", "--dry-run=client").partition("NOTES:")[
        2
    ]
    assert "rollout status deployment/arriero" in notes
    assert "all models and their pods stay" in notes
    assert "Secrets (reads.secrets); priority, runtime and storage classes (reads.classes)." in notes


def test_the_notes_name_nothing_that_is_switched_on() -> None:
    switches = ("--set=reads.secrets=true", "--set=reads.classes=true")
    notes = helm("install", "arriero", str(CHART), f"--namespace={NAMESPACE}", "--dry-run=client", *switches)
    assert "Not looked up" not in notes.partition("NOTES:")[2]
