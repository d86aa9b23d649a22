"""What the API server and look-ups say of a Deployment's template is told by the fields that the user wrote."""

from typing import Any

import pytest

from arriero_api.types import Engine, PodTemplate, Resources, Spec
from arriero_operator.configuration.settings import Profile, Settings
from arriero_operator.decide import acceptance
from arriero_operator.diagnose.refusals import refused
from arriero_operator.pods.written import Written
from arriero_operator.render import template
from tests.operator.reconcile.models import model, until
from tests.support.kubectl import Kubectl

SPEC: dict[str, Any] = {
    "model": {"uri": "pvc://claim/a"},
    "cache": {"emptyDir": {"sizeLimit": "1Gi"}},
    "resources": {"limits": {"cpu": 2}},
    "engine": {
        "env": [{"name": "MINE", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}],
        "envFrom": [{"secretRef": {"name": "all"}}],
    },
    "serving": {"apiKey": {"secretKeyRef": {"name": "key", "key": "k"}}},
    "podTemplate": {
        "metadata": {"labels": {"team": "nlp"}},
        "spec": {
            "containers": [
                {"name": "proxy", "image": "p"},
                {"name": "runtime", "volumeMounts": [{"name": "certs", "mountPath": "/certs"}], "tty": True},
            ],
            "volumes": [{"name": "certs", "configMap": {"name": "ca"}}],
            "tolerations": [{"key": "spot"}],
        },
    },
}
PROFILE = Profile(
    "cpu",
    "image",
    resources=Resources.model_validate({"requests": {"memory": "1Gi"}}),
    engine=Engine.model_validate({"env": [{"name": "THEIRS", "value": "1"}]}),
    tolerations=({"key": "gpu"},),
    pod_template=PodTemplate.model_validate(
        {"spec": {"hostname": "box", "containers": [{"name": "log", "image": "l"}]}}
    ),
)


@pytest.fixture(scope="module", name="written")
def _written() -> Written:
    """Of the spec above over that profile."""
    asked = acceptance.asked(Spec.model_validate(SPEC), Settings((), "cpu", "", 1, {"cpu": PROFILE}))
    assert asked.refused is None
    assert asked.inputs is not None
    return asked.written(template.pod_template("tiny", asked.inputs))


def at(written: Written, part: str, name: str) -> str:
    """Path of the entry of that name in the template."""
    names = [one["name"] for one in written.template["spec"][part]]
    return f"spec.{part}[{names.index(name)}]"


def variable(written: Written, name: str) -> str:
    """Path of an environment variable in the template."""
    names = [one["name"] for one in written.template["spec"]["containers"][0]["env"]]
    return f"spec.containers[0].env[{names.index(name)}]"


def test_a_path_in_the_template_is_the_users_own(written: Written) -> None:
    runtime = written.template["spec"]["containers"][0]
    mount = len(runtime["volumeMounts"]) - 1
    chart = "profiles.cpu.podTemplate of the chart"
    told = {
        f"{at(written, 'containers', 'proxy')}.imagePullPolicy": "spec.podTemplate.spec.containers[0].imagePullPolicy",
        f"{at(written, 'containers', 'log')}.ports[0].name": f"{chart}.spec.containers[0].ports[0].name",
        f"spec.containers[0].volumeMounts[{mount}].name": "spec.podTemplate.spec.containers[1].volumeMounts[0].name",
        "spec.containers[0].tty": "spec.podTemplate.spec.containers[1].tty",
        f"{at(written, 'volumes', 'certs')}.configMap": "spec.podTemplate.spec.volumes[0].configMap",
        "spec.tolerations[1].key": "spec.podTemplate.spec.tolerations[0].key",
        "spec.hostname": f"{chart}.spec.hostname",
        "spec.gpus": "spec.podTemplate.spec.gpus",
        "labels": "spec.podTemplate.metadata.labels",
        "spec.terminationGracePeriodSeconds": "spec.serving.drainSeconds",
        "spec.containers[0].image": "spec.image",
        "spec.containers[0].args[2]": "spec.engine.args[2]",
        "spec.containers[0].resources.limits[cpu]": "spec.resources.limits[cpu]",
        "spec.containers[0].resources.requests[memory]": "profiles.cpu of the chart.resources.requests[memory]",
        f"{variable(written, 'MINE')}.valueFrom.secretKeyRef": "spec.engine.env[MINE].valueFrom.secretKeyRef",
        f"{variable(written, 'THEIRS')}.value": "profiles.cpu.engine of the chart.env[THEIRS].value",
        "spec.containers[0].envFrom[0].secretRef": "spec.engine.envFrom[all].secretRef",
        f"{at(written, 'volumes', 'model')}.persistentVolumeClaim.claimName": "spec.model.uri",
        f"{at(written, 'volumes', 'cache')}.emptyDir.sizeLimit": "spec.cache.emptyDir.sizeLimit",
        f"{at(written, 'volumes', 'shm')}.emptyDir.sizeLimit": "spec.sharedMemory",
        f"{at(written, 'volumes', 'api-key')}.secret": "spec.serving.apiKey.secretKeyRef",
    }
    assert {path: written.place(path) for path in told} == told


ABOVE = 'spec.template.spec.containers[0].resources.requests: Invalid value: "8": must be '
WORDS = {
    "requests above a limit": (
        f"{ABOVE}less than or equal to cpu limit of 2",
        'spec.resources.requests[cpu]: Invalid value: "8": must be less than or equal to cpu limit of 2',
    ),
    "requests unlike a limit": (
        f"{ABOVE}equal to nvidia.com/gpu limit of 1",
        'spec.resources.requests[nvidia.com/gpu]: Invalid value: "8": must be equal to nvidia.com/gpu limit of 1',
    ),
    "a wrong type": (
        "json: cannot unmarshal string into Go struct field PodSpec.spec.template.spec.hostNetwork of type bool",
        "json: cannot unmarshal string into spec.podTemplate.spec.hostNetwork of type bool",
    ),
    "a wrong value": (
        "spec.template.spec.dnsPolicy: Unsupported value",
        "spec.podTemplate.spec.dnsPolicy: Unsupported value",
    ),
    "another object's field": ("spec.ports[0].port: Invalid value", "spec.ports[0].port: Invalid value"),
}


@pytest.mark.parametrize(("said", "told"), WORDS.values(), ids=WORDS)
def test_a_refused_child_is_told_by_the_resources_fields(said: str, told: str) -> None:
    intent = {"spec": {"template": {"spec": {"containers": [{"name": "runtime"}]}}}}
    assert refused("Deployment tiny", said, intent).message == f"Deployment tiny: {told}"


@pytest.mark.control_plane
def test_a_request_above_its_limit_is_told_by_the_specs_own_field(served: Kubectl) -> None:
    served.apply(model("tiny", resources={"limits": {"cpu": "2"}, "requests": {"cpu": "8"}}))
    message = until(served, "tiny", "Ready", "False", "ChildRefused")["message"]
    assert "spec.resources.requests[cpu]: Invalid value" in message
    assert "spec.template" not in message


@pytest.mark.control_plane
def test_something_that_is_not_there_is_told_with_the_field_that_refers_to_it(served: Kubectl) -> None:
    ref = {"configMapKeyRef": {"name": "absent", "key": "k"}}
    served.apply(model("tiny", engine={"env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": ref}]}))
    message = until(served, "tiny", "Accepted", "False", "ReferenceMissing")["message"]
    assert "ConfigMap 'absent', key 'k' (spec.engine.env[B].valueFrom.configMapKeyRef)" in message


@pytest.mark.parametrize("key", ["\u00b2", "9" * 5000])
def test_what_only_looks_like_a_number_is_a_key_of_a_map(written: Written, key: str) -> None:
    said = f"spec.template.spec.containers[0].resources.limits[{key}]: Invalid value"
    assert f"limits[{key}]: Invalid value" in written.words(said)
