"""The examples are resources that the CRD takes as they are."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from arriero_api.crd import definition
from arriero_api.types import Spec

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))


def _unknown(schema: dict[str, Any], value: Any, path: str) -> list[str]:
    """Fields that the schema does not have: the API server would drop them without a word."""
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    found = []
    for key, inner in value.items():
        known = schema["properties"].get(key)
        found += [f"{path}.{key}"] if known is None else _unknown(known, inner, f"{path}.{key}")
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_a_model_of_known_fields(path: Path) -> None:
    resource = yaml.safe_load(path.read_text())
    assert (resource["apiVersion"], resource["kind"]) == ("arriero.dev/v1alpha1", "InferenceModel")
    Spec.model_validate(resource["spec"])
    schema = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert not _unknown(schema, resource["spec"], "spec")


def test_the_smallest_example_has_six_lines() -> None:
    text = (EXAMPLES[0].parent / "minimal.yaml").read_text()
    assert len(text.splitlines()) == 6
