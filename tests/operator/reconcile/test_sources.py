"""Sources in the pods: Secrets as files, images as volumes, one commit of an adapter for all replicas."""

from dataclasses import replace
from typing import Any

import pytest

from arriero_api import pod as places
from arriero_api.contract import (
    AdapterState,
    AdapterStatus,
    NameKind,
    Phase,
    Registration,
    Registrations,
    RuntimeStatus,
)
from arriero_api.types import Spec
from arriero_operator.configuration.limits import Changes
from arriero_operator.configuration.settings import Profile, Settings
from arriero_operator.decide import acceptance, adapters, pins, registered
from arriero_operator.decide.claims import wanted_names
from arriero_operator.decide.conditions import conditions
from arriero_operator.diagnose.refusals import refused
from arriero_operator.pods.facts import PodFacts
from arriero_operator.render.inputs import Inputs, pod_inputs
from arriero_operator.render.owner import Owner
from arriero_operator.render.template import pod_template
from arriero_operator.revisions import lineage, records
from arriero_operator.revisions.lineage import Demand, Seen
from arriero_operator.revisions.room import Room, room_of
from tests.operator.reconcile.made import NEW, START, chosen, ready, situation
from tests.operator.reconcile.models import patch_spec, until
from tests.operator.reconcile.runtime import scripted_runtime
from tests.operator.reconcile.test_live import serve
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object

GPU = Profile("nvidia", "runtime:1")
OWNER = Owner("team", "tiny", "uid")
SUPPORT = Registration("support", NameKind.ADAPTER, "hf://org/support", "main")
FIRST, SECOND = "1" * 40, "2" * 40


def spec(model: dict[str, Any] | None = None, adapters: list[dict[str, Any]] | None = None, **more: Any) -> Spec:
    lora = {"lora": {"adapters": adapters}} if adapters is not None else {}
    return Spec.model_validate({"model": {"uri": "hf://org/tiny", **(model or {})}, **lora, **more})


def adapter(name: str, secret: str) -> dict[str, Any]:
    return {"name": name, "uri": f"s3://bucket/{name}", "credentials": {"secretName": secret}}


def mounted(inputs: Inputs) -> dict[str, dict[str, Any]]:
    """Path below the folder of credentials → the volume."""
    body = pod_template("tiny", inputs)["spec"]
    volumes = {one["name"]: one for one in body["volumes"]}
    places_of = body["containers"][0]["volumeMounts"]
    found = {one["mountPath"]: (volumes[one["name"]], one) for one in places_of}
    prefix = f"{places.CREDENTIALS_DIR}/"
    assert all(mount["readOnly"] for path, (_, mount) in found.items() if path.startswith(prefix))
    return {path.removeprefix(prefix): volume for path, (volume, _) in found.items() if path.startswith(prefix)}


def test_each_secret_is_one_folder_of_files_and_no_variable() -> None:
    inputs = pod_inputs(spec({"credentials": {"secretName": "hub"}}, [adapter("a", "store"), adapter("b", "hub")]), GPU)
    found = mounted(inputs)
    assert {name: one["secret"]["secretName"] for name, one in found.items()} == {"hub": "hub", "store": "store"}
    assert all(one["secret"]["optional"] for one in found.values())
    container = pod_template("tiny", inputs)["spec"]["containers"][0]
    assert "--credentials=hub" in container["args"]
    assert [one for one in container["env"] if "valueFrom" in one] == []


def test_long_names_of_secrets_with_dots_make_legal_volumes() -> None:
    name = "a." * 120 + "a"
    volume = mounted(pod_inputs(spec({"credentials": {"secretName": name}}), GPU))[name]
    assert volume["secret"]["secretName"] == name
    assert len(volume["name"]) < 64
    assert "." not in volume["name"]


def test_an_image_is_mounted_where_a_claim_would_be() -> None:
    body = pod_template("tiny", pod_inputs(spec({"uri": "oci://ghcr.io/org/tiny:1.0"}), GPU))["spec"]
    (volume,) = (one for one in body["volumes"] if "image" in one)
    assert volume["image"] == {"reference": "ghcr.io/org/tiny:1.0", "pullPolicy": "IfNotPresent"}
    (mount,) = (one for one in body["containers"][0]["volumeMounts"] if one["name"] == volume["name"])
    assert (mount["mountPath"], mount["readOnly"]) == (places.CLAIM_DIR, True)


def test_a_server_without_image_volumes_is_named_and_other_refusals_stay_what_they_are() -> None:
    image = {"spec": {"template": {"spec": {"volumes": [{"name": "model", "image": {"reference": "a/b"}}]}}}}
    words = "spec.template.spec.volumes[5]: Required value: must specify a volume type"
    assert refused("Deployment tiny", words, image).reason == "OciVolumesUnsupported"
    assert refused("Deployment tiny", words, {}).reason == "ChildRefused"
    assert refused("Deployment tiny", "spec.replicas: Invalid value", image).reason == "ChildRefused"


def choose(wanted: Spec, stored: list[dict[str, Any]], current: str = "") -> lineage.Choice:
    return lineage.choose(Demand(wanted, pod_inputs(wanted, GPU), "", current), Seen(), stored, Changes())


def test_another_secret_of_an_adapter_needs_new_pods_and_one_less_does_not() -> None:
    both = spec(adapters=[adapter("a", "one"), adapter("b", "two")])
    first = records.wanted(OWNER, choose(both, []), [])
    stored = [dict(first.record)]
    for fewer in (spec(adapters=[adapter("b", "two")]), spec(adapters=[])):
        assert records.wanted(OWNER, choose(fewer, stored, first.hash), stored).hash == first.hash
    more = records.wanted(OWNER, choose(spec(adapters=[adapter("c", "three")]), stored, first.hash), stored)
    assert more.hash != first.hash
    assert room_of(more.record).secrets == {"three"}


def test_a_file_leaves_out_an_adapter_whose_secret_its_pods_do_not_have() -> None:
    names = wanted_names("tiny", spec(adapters=[adapter("a", "one"), {"name": "b", "uri": "hf://org/b"}]))
    without = registered.served(names, (), (), START, Room(16))
    assert [one.name for one in without] == ["tiny", "b"]
    both = registered.served(names, (), (), START, Room(16, frozenset({"one"})))
    assert [(one.name, one.credentials) for one in both] == [("tiny", ""), ("a", "one"), ("b", "")]


def test_an_adapter_that_waits_for_new_pods_says_so() -> None:
    wanted = replace(SUPPORT, credentials="store")
    files = {NEW: Registrations((Registration("tiny", NameKind.MODEL),))}
    (found,) = adapters.states([wanted], [ready(status=RuntimeStatus(Phase.READY))], adapters.NOTHING, files)
    assert (found.state, found.reason) == ("Registering", "AdapterNeedsRollout")
    assert "Secret 'store'" in found.message
    verdict = next(one for one in conditions(situation(pods=[ready()], names=[found])) if one.type == "NamesRegistered")
    assert (verdict.status, verdict.reason) == ("False", "AdapterNeedsRollout")
    assert found.message in verdict.message


def serving(name: str, commit: str, state: AdapterState = AdapterState.REGISTERED) -> PodFacts:
    told = AdapterStatus("support", SUPPORT.uri, SUPPORT.revision, state, commit=commit)
    return ready(name, status=RuntimeStatus(Phase.READY, adapters=(told,)))


def test_what_the_first_pod_resolved_is_what_all_serve() -> None:
    assert pins.pinned([SUPPORT], [], [serving("a", FIRST), serving("b", SECOND)]) == (replace(SUPPORT, commit=FIRST),)
    assert pins.pinned([SUPPORT], [], [serving("a", FIRST, AdapterState.REGISTERING)]) == (SUPPORT,)


def test_a_commit_that_a_file_names_stays_until_the_entry_changes() -> None:
    file = Registrations((Registration("tiny", NameKind.MODEL), replace(SUPPORT, commit=FIRST)))
    pods = [serving("a", SECOND)]
    assert pins.pinned([SUPPORT], [file], pods)[0].commit == FIRST
    other = replace(SUPPORT, revision="v2")
    assert pins.pinned([other], [file], pods)[0].commit == ""


@pytest.mark.parametrize("change", [{"revision": FIRST}, {"uri": "s3://bucket/a", "revision": ""}])
def test_what_cannot_move_is_not_pinned(change: dict[str, str]) -> None:
    entry = replace(SUPPORT, **change)  # type: ignore[arg-type]
    told = AdapterStatus("support", entry.uri, entry.revision, AdapterState.REGISTERED, commit=FIRST)
    pods = [ready(status=RuntimeStatus(Phase.READY, adapters=(told,)))]
    assert pins.pinned([entry], [], pods) == (entry,)


def test_a_pod_of_another_commit_does_not_have_the_adapter_yet() -> None:
    pinned = replace(SUPPORT, commit=FIRST)
    files = {NEW: Registrations((Registration("tiny", NameKind.MODEL), pinned))}
    pods = [serving("a", FIRST), serving("b", SECOND)]
    (found,) = adapters.states([SUPPORT], pods, adapters.NOTHING, files)
    assert (found.state, found.pods) == ("Registering", 1)
    (found,) = adapters.states([SUPPORT], [serving("a", FIRST), serving("b", "")], adapters.NOTHING, files)
    assert (found.state, found.pods) == ("Registered", 2)


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("HF_TOKEN", "hf_SENTINEL", "spec.model.credentials"),
        ("AWS_SECRET_ACCESS_KEY", "SENTINEL", "secretAccessKey"),
        ("HTTPS_PROXY", "http://me:SENTINEL@proxy:3128", "password"),
    ],
)
def test_a_secret_in_the_resource_or_the_profile_is_refused_without_its_value(name: str, value: str, word: str) -> None:
    settings = Settings((), "nvidia", "", 1, {"nvidia": GPU})
    found = acceptance.asked(spec(engine={"env": [{"name": name, "value": value}]}), settings).refused
    assert found is not None
    assert found.reason == "EngineEnvOwned"
    assert word in found.message
    assert "SENTINEL" not in found.to_json()
    from_secret = {"name": name, "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}
    assert acceptance.asked(spec(engine={"env": [from_secret]}), settings).refused is None


def test_the_revision_of_a_spec_without_credentials_is_what_it_was() -> None:
    inputs = pod_inputs(spec(), GPU)
    assert not mounted(inputs)
    assert records.wanted(OWNER, chosen(inputs), []).hash == inputs.hash
    assert inputs.hash == replace(inputs, credentials="", adapter_credentials=[]).hash


def file_of(kubectl: Kubectl, pod: Object) -> Registrations:
    """What the pods of this one's revision are to serve."""
    labels = ",".join(
        f"{key}={pod['metadata']['labels'][key]}" for key in ("arriero.dev/model", "arriero.dev/revision")
    )
    found = kubectl.only("configmap", labels)
    return Registrations.from_json(found["data"]["registrations.json"])


@pytest.mark.control_plane
def test_a_branch_of_an_adapter_is_one_commit_and_a_new_secret_is_a_rollout_told_beforehand(served: Kubectl) -> None:
    entry = {"name": "support", "uri": SUPPORT.uri, "revision": SUPPORT.revision}
    with scripted_runtime() as runtime:
        pods, pod = serve(served, runtime, lora={})
        patch_spec(served, "tiny", {"lora": {"adapters": [entry]}})
        eventually(lambda: file_of(served, pod).adapters)
        told = AdapterStatus("support", SUPPORT.uri, SUPPORT.revision, AdapterState.REGISTERED, commit=FIRST)
        runtime.status = replace(runtime.status, adapters=(told,))
        eventually(lambda: file_of(served, pod).adapters[0].commit == FIRST)
        runtime.status = replace(runtime.status, registrations=file_of(served, pod).hash)
        until(served, "tiny", "Ready", "True", "Ready")

        patch_spec(served, "tiny", {"lora": {"adapters": [entry, adapter("more", "store")]}})
        found = until(served, "tiny", "NamesRegistered", "False", "AdapterNeedsRollout")
        assert "'more' waits for new pods" in found["message"]
        assert [one.name for one in file_of(served, pod).adapters] == ["support"]
        (fresh,) = eventually(lambda: [one for one in pods.live() if one["metadata"]["uid"] != pod["metadata"]["uid"]])
        assert "store" in {one.get("secret", {}).get("secretName") for one in fresh["spec"]["volumes"]}
        content = file_of(served, fresh)
        assert [(one.name, one.commit, one.credentials) for one in content.adapters] == [
            ("more", "", "store"),
            ("support", FIRST, ""),
        ]
