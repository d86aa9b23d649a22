"""spec.podTemplate: how it is laid over the pods, what of it is refused, and by whom."""

from typing import Any

import pytest

from arriero_api.types import PodTemplate, Spec
from arriero_operator.configuration.limits import Policy
from arriero_operator.configuration.settings import Profile, Settings
from arriero_operator.decide import acceptance
from arriero_operator.render import podtemplate, template
from tests.operator.reconcile.models import model, patch_spec, until
from tests.operator.reconcile.pods import Pods
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl

Json = dict[str, Any]


def asked(profile: Profile | None = None, policy: Policy | None = None, **spec: Any) -> acceptance.Asked:
    """A spec of hf://org/tiny over a profile."""
    wanted = Spec.model_validate({"model": {"uri": "hf://org/tiny"}, **spec})
    profiles = {"cpu": profile or Profile("cpu", "i")}
    return acceptance.asked(wanted, Settings((), "cpu", "", 1, profiles, policy=policy or Policy()))


def pod(spec: Json, profile: Profile | None = None) -> Json:
    """The pod template with `spec` laid over it."""
    found = asked(profile, podTemplate={"spec": spec})
    assert found.refused is None, found.refused
    assert found.inputs is not None
    return template.pod_template("tiny", found.inputs)


ODD = ({"a": "b"}, ["a"], 5, 1.5, True, "", None)
MERGE_KEYS = {
    "imagePullSecrets": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "hostAliases": "ip",
    "containers": "name",
}


@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize(("name", "key"), MERGE_KEYS.items())
def test_an_entry_that_cannot_be_merged_by_its_key_is_left_to_the_api_server(name: str, key: str, odd: object) -> None:
    wrong, right = {key: odd, "x": 1}, {key: "right"}
    for entry in (wrong, odd):
        found = podtemplate.merged({name: [right]}, {name: [entry]})
        assert found == {name: [right, entry]}
        assert podtemplate.merged({name: [entry]}, {name: [right]}) == {name: [entry, right]}


@pytest.mark.control_plane
def test_a_mount_whose_path_is_no_text_is_told_of_the_pod_template(served: Kubectl) -> None:
    mount = {"name": "x", "mountPath": {"a": "b"}}
    served.apply(model("tiny", podTemplate={"spec": {"containers": [{"name": "runtime", "volumeMounts": [mount]}]}}))
    assert "mountPath" in until(served, "tiny", "Accepted", "False", "PodTemplateInvalid")["message"]


MERGES = {
    "maps are merged": ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3, "c": 2}}),
    "a null takes away": ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
    "containers by name": (
        {"containers": [{"name": "x", "a": 1}, {"name": "y"}]},
        {"containers": [{"name": "z"}, {"name": "x", "b": 2}]},
        {"containers": [{"name": "x", "a": 1, "b": 2}, {"name": "y"}, {"name": "z"}]},
    ),
    "tolerations are added": (
        {"tolerations": [{"key": "gpu"}]},
        {"tolerations": [{"key": "gpu"}, {"key": "spot"}]},
        {"tolerations": [{"key": "gpu"}, {"key": "spot"}]},
    ),
    "other lists are replaced": ({"args": ["a"]}, {"args": ["b"]}, {"args": ["b"]}),
}


@pytest.mark.parametrize(("base", "over", "wanted"), MERGES.values(), ids=MERGES)
def test_how_it_is_laid_over(base: Json, over: Json, wanted: Json) -> None:
    assert podtemplate.merged(base, over) == wanted


def test_a_further_container_a_volume_and_a_mount_come_beside_the_operators_own() -> None:
    bare = pod({"priority": 1})["spec"]
    made = pod(
        {
            "serviceAccountName": "models",
            "volumes": [{"name": "certs", "configMap": {"name": "certs"}}],
            "containers": [
                {"name": "proxy", "image": "proxy:1"},
                {"name": "runtime", "volumeMounts": [{"name": "certs", "mountPath": "/certs"}]},
            ],
        }
    )["spec"]
    runtime, proxy = made["containers"]
    assert (proxy["name"], made["serviceAccountName"]) == ("proxy", "models")
    assert runtime["volumeMounts"][:-1] == bare["containers"][0]["volumeMounts"]
    assert runtime["volumeMounts"][-1] == {"name": "certs", "mountPath": "/certs"}
    assert {key: value for key, value in runtime.items() if key != "volumeMounts"} == {
        key: value for key, value in bare["containers"][0].items() if key != "volumeMounts"
    }


def test_the_profiles_podtemplate_comes_first_and_the_specs_over_it() -> None:
    base = PodTemplate.model_validate({"spec": {"hostAliases": [{"ip": "10.0.0.1"}], "priorityClassName": "low"}})
    made = pod({"priorityClassName": "high"}, Profile("cpu", "i", pod_template=base))["spec"]
    assert (made["priorityClassName"], made["hostAliases"]) == ("high", [{"ip": "10.0.0.1"}])


OWNED = {
    "the grace period": ({"terminationGracePeriodSeconds": 5}, ".spec.terminationGracePeriodSeconds", "drainSeconds"),
    "the image": ({"containers": [{"name": "runtime", "image": "x"}]}, "[runtime].image", "spec.image"),
    "the arguments": ({"containers": [{"name": "runtime", "args": []}]}, "[runtime].args", "spec.engine.args"),
    "the environment": ({"containers": [{"name": "runtime", "env": []}]}, "[runtime].env", "spec.engine.env"),
    "the resources": ({"containers": [{"name": "runtime", "resources": {}}]}, "[runtime].resources", "spec.resources"),
    "a probe": ({"containers": [{"name": "runtime", "livenessProbe": None}]}, "[runtime].livenessProbe", "remove it"),
    "a volume's name": ({"volumes": [{"name": "cache", "emptyDir": {}}]}, ".spec.volumes[cache]", "choose another"),
    "a mount over the operator's": (
        {"containers": [{"name": "runtime", "volumeMounts": [{"name": "x", "mountPath": "/etc/arriero/"}]}]},
        "volumeMounts[/etc/arriero]",
        "choose another path",
    ),
}


@pytest.mark.parametrize(("spec", "path", "advice"), OWNED.values(), ids=OWNED)
def test_what_the_operator_owns_is_refused_by_its_path_with_what_to_use(spec: Json, path: str, advice: str) -> None:
    found = asked(podTemplate={"spec": spec}).refused
    assert found is not None
    assert found.reason == "PodTemplateFieldOwned"
    assert path in found.message
    assert advice in found.message


@pytest.mark.parametrize("part", ["labels", "annotations"])
def test_the_operators_labels_and_annotations_are_refused(part: str) -> None:
    found = asked(podTemplate={"metadata": {part: {"arriero.dev/model": "x", "team": "y"}}}).refused
    assert found is not None
    assert f"spec.podTemplate.metadata.{part}[arriero.dev/model]" in found.message
    assert "team" not in found.message


def test_a_wrong_podtemplate_of_the_chart_is_told_by_the_charts_own_name() -> None:
    wrong = PodTemplate.model_validate({"spec": {"restartPolicy": "Never"}})
    found = asked(Profile("cpu", "i", pod_template=wrong)).refused
    assert found is not None
    assert "profiles.cpu.podTemplate of the chart.spec.restartPolicy" in found.message


FORBIDDEN: dict[str, tuple[Policy, Json, str]] = {
    "a podTemplate": (Policy(pod_template=False), {"podTemplate": {}}, "spec.podTemplate"),
    "an image": (Policy(images=["good.example/"]), {"image": "bad.example/x"}, "spec.image: bad.example/x"),
    "a container's image": (
        Policy(images=["good.example/"]),
        {"podTemplate": {"spec": {"initContainers": [{"name": "a", "image": "bad.example/x"}]}}},
        "spec.podTemplate.spec.initContainers[a].image: bad.example/x",
    ),
    "a source": (Policy(sources=["pvc://"]), {}, "spec.model.uri: hf://org/tiny"),
    "an adapter's source": (
        Policy(sources=["hf://org/tiny"]),
        {"lora": {"adapters": [{"name": "a", "uri": "hf://else/where"}]}},
        "spec.lora.adapters[a].uri: hf://else/where",
    ),
    "another host for a source": (
        Policy(sources=["hf://org/"]),
        {"engine": {"env": [{"name": "HF_ENDPOINT", "value": "https://hub.example.org"}]}},
        "spec.engine.env: HF_ENDPOINT",
    ),
    "another host by a name that the library alone knows": (
        Policy(sources=["hf://org/"]),
        {"engine": {"env": [{"name": "AWS_ENDPOINT", "value": "https://store.example.org"}]}},
        "spec.engine.env: AWS_ENDPOINT",
    ),
    "a type of Service": (
        Policy(service_types=["ClusterIP"]),
        {"service": {"type": "LoadBalancer"}},
        "spec.service.type: LoadBalancer",
    ),
    "code of models": (
        Policy(trust_remote_code=False),
        {"model": {"uri": "hf://org/tiny", "trustRemoteCode": True}},
        "spec.model.trustRemoteCode",
    ),
}


@pytest.mark.parametrize(("policy", "spec", "words"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_the_charts_policy_forbids(policy: Policy, spec: Json, words: str) -> None:
    assert asked(**spec).refused is None
    found = asked(policy=policy, **spec).refused
    assert found is not None
    assert found.reason == "NotAllowed"
    assert words in found.message


@pytest.mark.control_plane
def test_pods_carry_it_and_a_wrong_one_is_refused_in_the_api_servers_words_before_any_pod(served: Kubectl) -> None:
    spec: Json = {"containers": [{"name": "proxy", "image": "proxy:1", "imagePullPolicy": "Sometimes"}]}
    served.apply(model("tiny", podTemplate={"spec": spec}))
    found = until(served, "tiny", "Accepted", "False", "PodTemplateInvalid")
    wrong = 'spec.podTemplate.spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes"'
    assert wrong in found["message"]
    until(served, "tiny", "Stalled", "True", "PodTemplateInvalid")
    assert not served.items("deployments,controllerrevisions", "arriero.dev/model=tiny")
    patch_spec(served, "tiny", {"podTemplate": {"spec": {"gpus": 4, "containers": None}}})
    found = until(served, "tiny", "Accepted", "False", "PodTemplateInvalid")
    assert 'unknown field "spec.podTemplate.spec.gpus"' in found["message"]
    patch_spec(served, "tiny", {"podTemplate": {"spec": {"gpus": None, "tolerations": "all"}}})
    found = until(served, "tiny", "Accepted", "False", "PodTemplateInvalid")
    assert "spec.podTemplate.spec.tolerations: is a text" in found["message"]
    patch_spec(served, "tiny", {"podTemplate": {"spec": {"tolerations": None, "hostNetwork": "yes"}}})
    found = until(served, "tiny", "Accepted", "False", "PodTemplateInvalid")
    assert "spec.podTemplate.spec.hostNetwork" in found["message"]
    spec = {"hostNetwork": None, "containers": [{"name": "proxy", "image": "proxy:1"}], "hostname": "box"}
    patch_spec(served, "tiny", {"podTemplate": {"metadata": {"labels": {"team": "nlp"}}, "spec": spec}})
    until(served, "tiny", "Accepted", "True")
    (made,) = eventually(lambda: Pods(served, "tiny").live())
    assert [one["name"] for one in made["spec"]["containers"]] == ["runtime", "proxy"]
    assert (made["metadata"]["labels"]["team"], made["spec"]["hostname"]) == ("nlp", "box")
