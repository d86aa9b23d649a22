"""The chart's own profiles are inputs of revisions: another value replaces the pods of all models that use them."""

import pytest

from arriero_api.types import Spec
from arriero_operator.configuration.file import parse
from arriero_operator.render.inputs import pod_inputs
from tests.chart.rendering import render

MADE_OF = {"cpu": "83cdd0a556", "nvidia": "f5f14a1b43"}
"""What the profiles are to a small model. One that becomes another on purpose is told with the release, because all its
models get new pods with the upgrade (`changes.profiles`); then the hash is replaced here."""


@pytest.mark.parametrize("name", MADE_OF)
def test_a_chart_replaces_no_pods_by_another_value_of_its_profiles_unless_that_is_meant(name: str) -> None:
    settings = parse(render().settings)
    assert set(settings.profiles) == set(MADE_OF)
    inputs = pod_inputs(Spec.model_validate({"model": {"uri": "hf://org/tiny"}}), settings.profiles[name])
    assert inputs.hash == MADE_OF[name]


def test_another_image_of_a_profile_replaces_no_pods() -> None:
    wanted = Spec.model_validate({"model": {"uri": "hf://org/tiny"}})
    hashes = set()
    for tag in ("1", "2"):
        settings = parse(render({"profiles": {"nvidia": {"image": f"registry.example.com/runtime:{tag}"}}}).settings)
        hashes.add(pod_inputs(wanted, settings.profiles["nvidia"]).hash)
    assert hashes == {MADE_OF["nvidia"]}
