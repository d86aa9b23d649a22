"""A model that does not serve says in its own status why and what to do; mended, it serves."""

from collections.abc import Iterator
from datetime import datetime

import pytest

from tests.demo.install import Stage
from tests.e2e.conftest import Start, example
from tests.hub import RemoteHub
from tests.models import smollm2 as smollm2_folder
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object, condition

pytestmark = pytest.mark.node

SECONDS_TO_FAIL = 150
SECONDS_TO_TELL = 20.0
MISSPELT = "HuggingFaceTB/SmolLM2-135M-Instuct"
GATED = "gated/smollm2"


@pytest.fixture
def apply(kubectl: Kubectl) -> Iterator[list[str]]:
    """Names of the models that the test applies; they are deleted after it."""
    names: list[str] = []
    yield names
    for name in names:
        kubectl.run("delete", "im", name, "--ignore-not-found")


def _failing(kubectl: Kubectl, names: list[str], name: str, spec: Object) -> Object:
    """The model once its status tells the failure of its pod, which it must do in time."""
    model = example(name)
    for key, value in spec.items():
        model["spec"][key] = {**model["spec"].get(key, {}), **value}
    names.append(name)
    kubectl.apply(model)
    ended = min(eventually(lambda: _ends(kubectl, name), SECONDS_TO_FAIL))
    model = eventually(lambda: _told(kubectl, name), SECONDS_TO_TELL + 10)
    told = datetime.fromisoformat(condition(model, "Stalled")["lastTransitionTime"])
    # The runtime says it before its container ends: it may be told earlier.
    assert (told - ended).total_seconds() <= SECONDS_TO_TELL
    return model


def _ends(kubectl: Kubectl, name: str) -> list[datetime]:
    """When the model's containers last ended; asked at once after the first end, that is the first."""
    found = []
    for pod in kubectl.items("pods", f"arriero.dev/model={name}"):
        for status in pod["status"].get("containerStatuses", ()):
            for state in (status.get("state", {}), status.get("lastState", {})):
                if "terminated" in state:
                    found.append(datetime.fromisoformat(state["terminated"]["finishedAt"]))
    return found


def _told(kubectl: Kubectl, name: str) -> Object:
    """The model, or an empty object while its status does not say that it is stalled."""
    found = kubectl.json("get", "im", name)
    return found if condition(found, "Stalled").get("status") == "True" else {}


def _warnings(kubectl: Kubectl, name: str, reason: str) -> int:
    events = kubectl.items("events")
    return sum(
        e["involvedObject"].get("kind") == "InferenceModel"
        and e["involvedObject"]["name"] == name
        and e["type"] == "Warning"
        and e["reason"] == reason
        for e in events
    )


def _restarts(kubectl: Kubectl, name: str) -> int:
    pods = kubectl.items("pods", f"arriero.dev/model={name}")
    return sum(c["restartCount"] for p in pods for c in p["status"].get("containerStatuses", ()))


def test_an_unknown_repository_is_named_with_its_remedy(kubectl: Kubectl, apply: list[str]) -> None:
    model = _failing(kubectl, apply, "misspelt", {"model": {"uri": f"hf://{MISSPELT}", "revision": "main"}})
    ready = condition(model, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ModelNotFound")
    assert MISSPELT in ready["message"] and "main" in ready["message"] and "spec.model.uri" in ready["message"]
    row = kubectl.run("get", "im", "misspelt")
    assert "ModelNotFound" in row and "spec.model.uri" in row
    assert _warnings(kubectl, "misspelt", "ModelNotFound") == 1


def test_a_gated_repository_is_told(kubectl: Kubectl, apply: list[str], hub: RemoteHub) -> None:
    hub.add_repo(GATED, smollm2_folder(), gated=True)
    model = _failing(kubectl, apply, "gated", {"model": {"uri": f"hf://{GATED}"}})
    ready = condition(model, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ModelGated")
    assert GATED in ready["message"]
    assert _warnings(kubectl, "gated", "ModelGated") == 1


def test_an_unknown_flag_is_named(kubectl: Kubectl, apply: list[str]) -> None:
    model = _failing(kubectl, apply, "flag", {"engine": {"args": ["--max-num-sqs=4"]}})
    ready = condition(model, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "InvalidArguments")
    assert "--max-num-sqs" in ready["message"]
    assert _warnings(kubectl, "flag", "InvalidArguments") == 1


def test_too_long_a_context_tells_the_longest_that_fits_and_mended_it_serves(
    stage: Stage, kubectl: Kubectl, apply: list[str]
) -> None:
    model = _failing(kubectl, apply, "long", {"engine": {"maxModelLen": 100_000}})
    ready = condition(model, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ContextTooLong")
    assert "8192" in ready["message"]
    assert _restarts(kubectl, "long") <= 2, "restarts must back off"

    kubectl.patch("im", "long", {"spec": {"engine": {"maxModelLen": 512}}})
    mended = Start(kubectl, "long")
    eventually(lambda: condition(kubectl.json("get", "im", "long"), "Stalled") == {}, 20)
    mended.wait_ready()
    assert stage.client.call("ask", mended.url, "long", "Hello")["answer"]
    assert _warnings(kubectl, "long", "ContextTooLong") == 1
    _delete_under_a_stream(stage, mended)


def _delete_under_a_stream(stage: Stage, model: Start) -> None:
    """The answer that is open when the model is deleted ends in full; then nothing of the model is left."""
    kubectl = model.kubectl
    tokens = 200
    with stage.client.calling("stream", model.url, model.name, "Tell me a long story.", str(tokens)) as lines:
        assert "text" in next(lines)
        kubectl.run("delete", "im", model.name)
        end = [line for line in lines if "text" not in line][-1]
    assert (end["tokens"], end["done"]) == (tokens, True)
    children = "deployments,services,controllerrevisions,configmaps,pods"
    eventually(lambda: not kubectl.items(children, f"arriero.dev/model={model.name}"), 60)
