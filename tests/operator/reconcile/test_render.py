"""Children as they are built from a spec."""

import json
import re
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arriero_api import pod
from arriero_api.contract import NameKind, Registration, Registrations
from arriero_api.types import Cache, EmptyDirCache, Engine, EnvVar, Model, Resources, Service, Serving, Spec
from arriero_operator.configuration.settings import Profile
from arriero_operator.render import arguments, children, names, service, template
from arriero_operator.render.inputs import Inputs, pod_inputs
from arriero_operator.render.owner import Owner
from arriero_operator.revisions import records
from tests.operator.reconcile.made import chosen

OWNER = Owner("team", "tiny", "uid-1")
GPU = Profile(
    name="nvidia",
    image="runtime:1",
    resources=Resources(limits={"nvidia.com/gpu": 1}, requests={"cpu": "2", "memory": "8Gi"}),
    engine=Engine(args=["--swap-space=1"], env=[EnvVar(name="A", value="profile"), EnvVar(name="B", value="b")]),
)
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
OBJECT_NAME = st.from_regex(
    r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?){0,3}", fullmatch=True
)


def inputs(profile: Profile = GPU, hub: str = "", **spec: object) -> Inputs:
    """Inputs of a spec for hf://org/tiny."""
    return pod_inputs(Spec.model_validate({"model": {"uri": "hf://org/tiny"}, **spec}), profile, hub)


@given(OBJECT_NAME.filter(lambda name: len(name) <= 253))
def test_every_legal_name_gives_a_legal_stem(name: str) -> None:
    stem = names.stem(name)
    assert len(stem) <= 50
    assert DNS_1035.fullmatch(stem)
    assert len(names.revisioned(name, "0123456789")) <= 63


def test_names_with_the_same_beginning_give_different_stems() -> None:
    long = "llama-3.1-8b-instruct-for-the-customer-support-team-in-region-eu-"
    found = {names.stem(name) for name in (f"{long}a", f"{long}b", "7b-chat", "a.b.c", "a-b-c", "qwen")}
    assert len(found) == 6
    assert names.stem("qwen") == "qwen"


def test_the_pod_passes_the_restricted_level() -> None:
    spec = template.pod_template("tiny", inputs())["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False


def test_arguments_are_typed_fields_then_the_profile_then_the_spec() -> None:
    found = inputs(
        model={"uri": "hf://org/tiny", "revision": "v1"},
        engine={"maxModelLen": 512, "dtype": "float32", "enforceEager": True, "maxNumSeqs": 4, "args": ["--seed", "1"]},
        serving={"requestTimeoutSeconds": 60, "drainSeconds": 90},
    )
    assert arguments.arguments(found) == [
        *("serve", "--model=hf://org/tiny", "--revision=v1"),
        *("--registrations", "/etc/arriero/registrations/registrations.json"),
        *("--cache-dir", "/var/cache/arriero", "--state-dir", "/var/lib/arriero"),
        *("--request-timeout-seconds", "60", "--drain-seconds", "90", "--endpoint-delay-seconds", "10", "--"),
        *("--max-model-len=512", "--dtype=float32", "--enforce-eager", "--max-num-seqs=4"),
        *("--swap-space=1", "--seed", "1"),
    ]
    grace = template.pod_template("tiny", found)["spec"]["terminationGracePeriodSeconds"]
    assert grace == pod.grace_period_seconds(90)


def test_the_runtime_learns_the_limit_of_its_cache_in_bytes() -> None:
    def variables(size: str = "") -> dict[str, str]:
        found = inputs(cache={"emptyDir": {"sizeLimit": size}}) if size else inputs()
        (container,) = template.pod_template("tiny", found)["spec"]["containers"]
        return {one["name"]: one["value"] for one in container["env"]}

    assert variables("9Gi")[pod.CACHE_LIMIT_VARIABLE] == str(9 * 2**30)
    assert variables("1.5G")[pod.CACHE_LIMIT_VARIABLE] == "1500000000"
    assert pod.CACHE_LIMIT_VARIABLE not in variables()


def test_the_runtime_learns_the_name_of_its_resource_whatever_the_model_is_called() -> None:
    (container,) = template.pod_template("tiny.one", inputs())["spec"]["containers"]
    assert {"name": pod.RESOURCE_VARIABLE, "value": "tiny.one"} in container["env"]


def test_variables_are_merged_by_name() -> None:
    found = inputs(hub="http://hub.example", engine={"env": [{"name": "A", "value": "spec"}]})
    assert found.env == [
        {"name": "HF_ENDPOINT", "value": "http://hub.example"},
        {"name": "A", "value": "spec"},
        {"name": "B", "value": "b"},
    ]


def test_a_limit_of_the_spec_takes_the_request_of_the_profile_with_it() -> None:
    found = inputs(resources={"limits": {"memory": "4Gi"}})
    assert found.limits == {"nvidia.com/gpu": "1", "memory": "4Gi"}
    assert found.requests == {"cpu": "2"}
    assert found.accelerators == {"nvidia.com/gpu": "1"}


def test_a_claim_is_mounted_read_only() -> None:
    spec = template.pod_template("tiny", inputs(model={"uri": "pvc://models/tiny"}))["spec"]
    assert {"name": "model", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}} in spec["volumes"]
    (container,) = spec["containers"]
    assert {"name": "model", "mountPath": "/mnt/model", "readOnly": True} in container["volumeMounts"]


@pytest.mark.parametrize(
    "change",
    [
        {"engine": {"maxModelLen": 9}},
        {"engine": {"env": [{"name": "X", "value": "1"}]}},
        {"image": "other:1"},
        {"model": {"uri": "hf://org/other"}},
        {"serving": {"drainSeconds": 400}},
        {"sharedMemory": "1Gi"},
        {"cache": {"emptyDir": {"sizeLimit": "9Gi"}}},
        {"resources": {"limits": {"nvidia.com/gpu": 2}}},
    ],
)
def test_what_reaches_the_pod_makes_a_new_revision(change: dict[str, Any]) -> None:
    assert inputs(**change).hash != inputs().hash


@pytest.mark.parametrize(
    "change", [{"replicas": 5}, {"model": {"uri": "hf://org/tiny", "name": "other", "aliases": ["chat"]}}]
)
def test_what_is_live_makes_none(change: dict[str, Any]) -> None:
    assert inputs(**change).hash == inputs().hash


def test_the_image_of_the_profile_makes_no_new_revision_and_the_hub_does() -> None:
    newer = Profile(**{name: getattr(GPU, name) for name in GPU.__slots__} | {"image": "runtime:2"})
    assert inputs(newer).hash == inputs().hash
    assert inputs(hub="http://hub.example").hash != inputs().hash


GOLDEN = Inputs(
    uri="hf://org/tiny",
    source_revision="",
    image="",
    default_image="runtime:1",
    image_pull_policy="IfNotPresent",
    limits={"nvidia.com/gpu": "1"},
    requests={},
    max_model_len=512,
    dtype=None,
    enforce_eager=False,
    max_num_seqs=None,
    args=["--seed", "1"],
    env=[],
    cache_size="",
    shared_memory="2Gi",
    request_timeout_seconds=300,
    drain_seconds=300,
)


def test_the_hash_of_a_released_version_stands() -> None:
    """Another value here means that installing this operator replaces every pod of every model."""
    assert GOLDEN.hash == "4925ebf327"


def test_inputs_of_a_newer_operator_that_are_not_used_change_no_hash() -> None:
    @dataclass(frozen=True, slots=True)
    class Newer(Inputs):
        priority: str = ""
        adapters: list[str] = field(default_factory=list)
        ranks: int = 64

    values = {one.name: getattr(GOLDEN, one.name) for one in fields(Inputs)}
    assert Newer(**values).hash == GOLDEN.hash
    assert Newer(**values, adapters=["x"]).hash != GOLDEN.hash
    assert Newer(**values, ranks=8).hash != GOLDEN.hash


def test_an_engine_switch_that_is_off_is_not_the_same_as_none() -> None:
    assert replace(GOLDEN, enforce_eager=None).hash != GOLDEN.hash


def test_a_stored_revision_is_applied_as_it_was_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    first = records.wanted(OWNER, chosen(inputs()), [])
    monkeypatch.setattr(records, "VERSION", "2.0")
    newer = Profile(**{name: getattr(GPU, name) for name in GPU.__slots__} | {"image": "runtime:2"})
    again = records.wanted(OWNER, chosen(inputs(newer)), [first.record])
    assert again.template == first.template
    assert again.record == first.record
    other = records.wanted(OWNER, chosen(inputs(engine={"maxModelLen": 9})), [first.record])
    assert other.record["revision"] == 2
    assert other.record["data"]["operatorVersion"] == "2.0"


def test_children_belong_to_the_model_and_block_no_deletion() -> None:
    content = Registrations((Registration("tiny", NameKind.MODEL),))
    revision = records.wanted(OWNER, chosen(inputs()), [])
    for child in (
        service.service(OWNER, Service()),
        children.registrations(OWNER, "abc", content, "2026-01-01T00:00:00Z"),
        children.deployment_scale(OWNER, 2, {"maxSurge": 1, "maxUnavailable": 0}),
        revision.record,
    ):
        (reference,) = child["metadata"]["ownerReferences"]
        assert reference["controller"] is True
        assert "blockOwnerDeletion" not in reference
        assert child["metadata"]["labels"]["arriero.dev/model"] == "tiny"
        assert child["metadata"]["annotations"]["arriero.dev/inferencemodel"] == "tiny"


TEXT = st.from_regex(r"[A-Za-z0-9._/-]{1,12}", fullmatch=True)
QUANTITY = st.one_of(st.integers(0, 64), st.sampled_from(["500m", "8Gi", "1.5"]))
AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), QUANTITY, max_size=3)
SPEC = st.builds(
    Spec,
    model=st.builds(
        Model,
        uri=st.sampled_from(["hf://a/b", "pvc://claim", "pvc://claim/a/b/", "file:///models/x"]),
        revision=st.none() | TEXT,
        name=st.none(),
        aliases=st.none() | st.lists(st.sampled_from(["x", "y/z"]), unique=True),
    ),
    replicas=st.integers(0, 9),
    image=st.none() | TEXT,
    resources=st.none() | st.builds(Resources, limits=st.none() | AMOUNTS, requests=st.none() | AMOUNTS),
    engine=st.none()
    | st.builds(
        Engine,
        max_model_len=st.none() | st.integers(1, 9999),
        enforce_eager=st.none() | st.booleans(),
        args=st.none() | st.lists(TEXT, max_size=3),
        env=st.none() | st.lists(st.builds(EnvVar, name=st.sampled_from("AB"), value=st.none() | TEXT), max_size=2),
    ),
    cache=st.none() | st.builds(lambda size: Cache(empty_dir=EmptyDirCache(size_limit=size)), st.none() | QUANTITY),
    shared_memory=st.none() | QUANTITY,
    serving=st.builds(
        Serving, request_timeout_seconds=st.integers(1, 99), drain_seconds=st.none() | st.integers(99, 999)
    ),
)


@given(SPEC, st.sampled_from(["", "http://hub.example"]))
def test_any_valid_spec_renders_and_always_the_same(spec: Spec, hub: str) -> None:
    first = template.pod_template("tiny", pod_inputs(spec, GPU, hub))
    again = template.pod_template("tiny", pod_inputs(Spec.model_validate(spec.model_dump()), GPU, hub))
    assert json.dumps(first) == json.dumps(again)
    (container,) = first["spec"]["containers"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in first["spec"]["volumes"]}
    assert all(isinstance(value, str) for value in container["args"])
