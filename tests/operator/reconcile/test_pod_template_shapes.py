"""spec.podTemplate may be any JSON that its open schema lets through: laid over the pods, or refused by its path."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arriero_api import pod_shapes
from arriero_api.types import PodTemplate, Spec
from arriero_operator.configuration.limits import Policy
from arriero_operator.configuration.settings import Profile, Settings
from arriero_operator.decide import acceptance
from arriero_operator.decide.plan import plan
from arriero_operator.diagnose.refusals import refused
from arriero_operator.render import children, template
from arriero_operator.render.owner import Owner
from arriero_operator.render.references import references
from arriero_operator.revisions.room import room_of
from tests.operator.reconcile.models import model, patch_spec, until
from tests.operator.reconcile.pods import Pods
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl

Json = dict[str, Any]

OWNER = Owner("ns", "tiny", "1")


def asked(spec: Json, base: PodTemplate | None = None) -> acceptance.Asked:
    """A podTemplate of this spec, over a profile whose one is `base`."""
    profiles = {"cpu": Profile("cpu", "i", pod_template=base)}
    settings = Settings((), "cpu", "", 1, profiles, policy=Policy(images=["x"]))
    return acceptance.asked(Spec.model_validate(model("tiny", podTemplate={"spec": spec})["spec"]), settings)


def refusal(spec: Json) -> str:
    """Why it is no pod's, in words."""
    found = asked(spec).refused
    assert found is not None
    assert found.reason == "PodTemplateInvalid", found
    return found.message


def container(**fields: Any) -> Json:
    """A podTemplate with the runtime's container and a further one of these fields."""
    return {"containers": [{"name": "runtime"}, {"name": "proxy", "image": "proxy:1"} | fields]}


def volume(**fields: Any) -> Json:
    """A podTemplate with this volume."""
    return {"volumes": [{"name": "more"} | fields]}


_SECOND = ".spec.containers[1]"
ODD: dict[str, tuple[Json, str]] = {
    "no image": ({"containers": [{"name": "runtime"}, {"name": "proxy"}]}, f"{_SECOND}.image: is missing"),
    "an image that is null": (container(image=None), f"{_SECOND}.image: is missing"),
    "an image that is a number": (container(image=5), f"{_SECOND}.image: is a number: must be a text"),
    "no image of an init container": ({"initContainers": [{"name": "a"}]}, ".spec.initContainers[0].image: is missing"),
    "no name": ({"containers": [{"image": "x"}]}, ".spec.containers[0].name: is missing"),
    "a name that is null": (container(name=None), f"{_SECOND}.name: is missing"),
    "a name that is a number": (container(name=1), f"{_SECOND}.name: is a number"),
    "a name that is a list": (container(name=["a"]), f"{_SECOND}.name: is a list"),
    "a name that is there twice": (
        {"containers": [{"name": "a", "image": "x"}, {"name": "a", "image": "x"}]},
        ".spec.containers[1].name: is 'a' as that of [0]",
    ),
    "containers that are null": ({"containers": None}, ".spec.containers: is null: must be a list of maps"),
    "a container that is a text": ({"containers": ["x"]}, ".spec.containers[0]: is a text: must be a map"),
    "mounts that are a text": (container(volumeMounts="x"), f"{_SECOND}.volumeMounts: is a text: must be a list"),
    "the runtime's mounts taken away": (
        {"containers": [{"name": "runtime", "volumeMounts": None}]},
        ".spec.containers[0].volumeMounts: is null: must be a list of maps",
    ),
    "a mount without a path": (
        container(volumeMounts=[{"name": "x"}]),
        f"{_SECOND}.volumeMounts[0].mountPath: is missing",
    ),
    "a path that is true": (
        container(volumeMounts=[{"mountPath": True}]),
        f"{_SECOND}.volumeMounts[0].mountPath: is true or false: must be a text",
    ),
    "a variable whose name is a map": (container(env=[{"name": {}}]), f"{_SECOND}.env[0].name: is a map"),
    "a variable from nothing": (
        container(env=[{"name": "A", "valueFrom": 1}]),
        f"{_SECOND}.env[0].valueFrom: is a number",
    ),
    "a Secret whose name is a list": (
        container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": ["x"], "key": "k"}}}]),
        f"{_SECOND}.env[0].valueFrom.secretKeyRef.name: is a list",
    ),
    "a Secret whose name is none": (
        container(envFrom=[{"secretRef": {"name": "../x"}}]),
        f"{_SECOND}.envFrom[0].secretRef.name: is '../x': must be the name of an object",
    ),
    "arguments that are a number": (container(args=5), f"{_SECOND}.args: is a number: must be a list of texts"),
    "an argument that is a number": (container(args=[5]), f"{_SECOND}.args[0]: is a number: must be a text"),
    "a volume without a name": ({"volumes": [{"emptyDir": {}}]}, ".spec.volumes[0].name: is missing"),
    "a claim without a name": (
        volume(persistentVolumeClaim={}),
        ".spec.volumes[0].persistentVolumeClaim.claimName: is missing",
    ),
    "a Secret that is a text": (volume(secret="x"), ".spec.volumes[0].secret: is a text: must be a map"),
    "items without a key": (volume(configMap={"name": "a", "items": [{}]}), ".configMap.items[0].key: is missing"),
    "sources that are a map": (volume(projected={"sources": {}}), ".projected.sources: is a map: must be a list"),
    "a class that is a number": ({"priorityClassName": 5}, ".spec.priorityClassName: is a number: must be a text"),
    "tolerations that are a text": ({"tolerations": "all"}, ".spec.tolerations: is a text: must be a list of maps"),
    "a toleration that is a text": ({"tolerations": ["all"]}, ".spec.tolerations[0]: is a text: must be a map"),
    "more than is taken": ({"hostname": "x" * pod_shapes.BYTES}, "spec.podTemplate: it has 65"),
}


@pytest.mark.parametrize(("spec", "words"), ODD.values(), ids=ODD)
def test_what_no_pod_could_be_made_of_is_invalid_by_its_path(spec: Json, words: str) -> None:
    message = refusal(spec)
    assert message.startswith("spec.podTemplate")
    assert words in message


def deep(levels: int) -> Json:
    """So many maps inside of each other."""
    found: Json = {}
    for _ in range(levels):
        found = {"x": found}
    return found


def test_what_is_deeper_than_any_pod_is_invalid_and_not_gone_through() -> None:
    assert f"more than {pod_shapes.DEPTH} maps" in refusal(deep(5000))
    assert asked(deep(pod_shapes.DEPTH - 5)).refused is None


def test_a_container_that_the_profile_has_needs_no_image_in_the_spec() -> None:
    base = PodTemplate.model_validate({"spec": {"containers": [{"name": "proxy", "image": "x"}]}})
    assert asked({"containers": [{"name": "proxy", "tty": True}]}, base).refused is None
    found = asked({"containers": [{"name": "proxy", "image": None}]}, base).refused
    assert found is not None
    assert "spec.podTemplate.spec.containers[0].image: is missing" in found.message


def test_a_wrong_shape_in_the_chart_is_told_by_the_charts_own_name() -> None:
    found = asked({}, PodTemplate.model_validate({"spec": {"containers": [{"name": "a"}]}})).refused
    assert found is not None
    assert found.message.startswith("profiles.cpu.podTemplate of the chart.spec.containers[0].image: is missing")


def test_a_volume_that_is_only_called_like_one_with_credentials_is_none() -> None:
    spec = {
        "volumes": [{"name": "credentials-x", "emptyDir": {}}, {"name": "credentials-y", "secret": {"secretName": "y"}}]
    }
    inputs = asked(spec).inputs
    assert inputs is not None
    record = {"data": {"template": template.pod_template("tiny", inputs)}}
    assert not room_of(record).secrets


_FIELDS = (
    "name image key items env envFrom valueFrom secretKeyRef configMapKeyRef secretRef configMapRef volumeMounts "
    "mountPath volumeDevices devicePath args command configMap secret secretName projected sources claimName "
    "persistentVolumeClaim ephemeral spec volumeClaimTemplate storageClassName "
    "reference ip optional resources securityContext"
)
_OF_PODS = (
    "containers initContainers volumes imagePullSecrets hostAliases tolerations nodeSelector priorityClassName "
    "affinity runtimeClassName securityContext hostname schedulerName topologySpreadConstraints"
)
_WORDS, _PARTS = _FIELDS.split(), _OF_PODS.split()
_TEXTS = ["", "runtime", "cache", "proxy", "a", "credentials-x", "--max-loras=x", "x:1", "b b"]
_NUMBERS = st.integers(-2, 2**40) | st.floats(allow_nan=False, allow_infinity=False)
_LEAF = st.none() | st.booleans() | _NUMBERS | st.sampled_from(_TEXTS)
_JSON = st.recursive(
    _LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_WORDS), inner, max_size=4)
)
_PROPER = st.fixed_dictionaries({"name": st.sampled_from(["runtime", "proxy", "a"]), "image": st.just("x:1")})
_MORE = st.dictionaries(st.sampled_from(_WORDS), _JSON, max_size=3)
_ENTRY = st.builds(lambda one, more: {**one, **more}, _PROPER, _MORE)
_LISTED = st.lists(_ENTRY | _JSON, max_size=3)
SPECS = st.dictionaries(st.sampled_from(_PARTS), _JSON | _LISTED, max_size=4)


@given(SPECS, SPECS)
@example({"volumes": [{"name": "credentials-x", "emptyDir": {}}]}, {})
@example({"containers": [{"name": "proxy"}]}, {})
@example({"containers": [{"name": "proxy", "image": "x", "args": 5}]}, {})
def test_any_other_json_is_laid_over_or_refused_and_nothing_is_ever_raised(spec: Json, base: Json) -> None:
    found = asked(spec, PodTemplate.model_validate({"spec": base}))
    if found.refused is not None:
        assert found.refused.reason in ("PodTemplateInvalid", "PodTemplateFieldOwned", "NotAllowed")
        return
    assert found.inputs is not None
    whole = template.pod_template("tiny", found.inputs)
    hash(references(whole))
    made = {"metadata": {"name": "tiny", "uid": "1", "generation": 1, "namespace": "ns"}, "spec": model("tiny")["spec"]}
    wanted = plan(OWNER, made, found, [], [])
    assert wanted.revision is not None
    assert not wanted.outdated
    room_of(wanted.revision.record)
    refused("Deployment tiny", "no", children.deployment_whole(OWNER, 1, {}, whole))


@pytest.mark.control_plane
@pytest.mark.parametrize("name", ["no image", "a name that is a number", "a Secret whose name is a list"])
def test_a_status_tells_of_it(served: Kubectl, name: str) -> None:
    spec, words = ODD[name]
    served.apply(model("tiny", podTemplate={"spec": spec}))
    assert words in until(served, "tiny", "Accepted", "False", "PodTemplateInvalid")["message"]
    until(served, "tiny", "Ready", "False", "PodTemplateInvalid")


@pytest.mark.control_plane
@pytest.mark.parametrize("levels", [900, 9000])
def test_a_template_as_deep_as_the_api_server_takes_is_told_and_harms_no_other_model(
    served: Kubectl, levels: int
) -> None:
    made = model("deep", podTemplate={"spec": {"x": "HERE"}})
    served.run("create", "-f", "-", stdin=json.dumps(made).replace('"HERE"', '{"x": ' * levels + "1" + "}" * levels))
    served.apply(model("tiny"))
    until(served, "tiny", "Accepted", "True")
    patch_spec(served, "tiny", {"replicas": 2})
    eventually(lambda: len(Pods(served, "tiny").live()) == 2)
    # By kubectl's own reading, as the test would not read the whole object either.
    accepted = 'jsonpath={.status.conditions[?(@.type=="Accepted")].message}'
    eventually(lambda: "more than" in served.run("get", "im", "deep", "-o", accepted))
