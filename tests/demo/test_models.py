"""How the demo reads InferenceModels."""

import json

import pytest

from tests.demo.errors import DemoError
from tests.demo.models import State, documents, ready


def _model(generation: int = 2, observed: int = 2, **conditions: tuple[str, str, str]) -> dict[str, object]:
    return {
        "metadata": {"generation": generation},
        "status": {
            "observedGeneration": observed,
            "conditions": [
                {"type": kind, "status": status, "reason": reason, "message": message}
                for kind, (status, reason, message) in conditions.items()
            ],
            "progress": {"phase": "Downloading", "percent": 42, "message": "2.5 of 6.0 GiB"},
        },
    }


def test_objects_of_a_watch_are_read_however_their_text_is_cut() -> None:
    objects = [{"a": {"b": "}{"}}, {"c": [1, 2]}]
    text = "\n".join(json.dumps(obj, indent=4) for obj in objects)
    assert list(documents(list(text))) == objects
    assert list(documents([text])) == objects


def test_a_state_is_one_line_with_phase_percent_and_detail() -> None:
    line = State.of(_model(Ready=("False", "Downloading", ""))).line()
    assert line.split() == ["Downloading", "42", "%", "2.5", "of", "6.0", "GiB"]


def test_a_status_of_an_older_spec_does_not_count_as_current() -> None:
    assert State.of(_model(generation=2, observed=2)).current
    assert not State.of(_model(generation=3, observed=2)).current
    assert not State.of({"metadata": {"generation": 1}}).current


def test_waiting_for_a_model_that_waits_for_a_change_ends_at_once_with_its_words() -> None:
    state = State.of(
        _model(Ready=("False", "ModelNotFound", "no such model"), Stalled=("True", "ModelNotFound", "no such model"))
    )
    with pytest.raises(DemoError, match="ModelNotFound: no such model"):
        ready(state)
