"""The cache: newest wins, deleted stays deleted, nothing unneeded is kept."""

from arriero_api import labels
from arriero_operator.cache.store import Cache, prune
from arriero_operator.kube.protocol import CONFIG_MAPS, DEPLOYMENTS, MODELS, PODS, Object
from arriero_operator.render import names
from tests.operator.machinery.objects import make


def _version(obj: Object | None) -> str:
    assert obj is not None
    version: str = obj["metadata"]["resourceVersion"]
    return version


def test_an_older_version_never_replaces_a_newer_one() -> None:
    cache = Cache()
    assert cache.put(DEPLOYMENTS, make(DEPLOYMENTS, "a", 10))
    assert not cache.put(DEPLOYMENTS, make(DEPLOYMENTS, "a", 9))
    assert _version(cache.get(DEPLOYMENTS, "team", "a")) == "10"


def test_versions_are_compared_as_numbers() -> None:
    cache = Cache()
    cache.put(DEPLOYMENTS, make(DEPLOYMENTS, "a", 99))
    assert cache.put(DEPLOYMENTS, make(DEPLOYMENTS, "a", 100))


def test_a_late_event_does_not_bring_a_deleted_object_back() -> None:
    cache = Cache()
    cache.put(DEPLOYMENTS, make(DEPLOYMENTS, "a", 10, uid="u"))
    cache.drop(DEPLOYMENTS, "team", "a", "u", version="12")
    assert not cache.put(DEPLOYMENTS, make(DEPLOYMENTS, "a", 11, uid="u"))
    assert cache.get(DEPLOYMENTS, "team", "a") is None


def test_a_deletion_that_is_seen_first_holds_against_every_older_event() -> None:
    cache = Cache()
    cache.drop(DEPLOYMENTS, "team", "a", "u", version="12")
    assert not cache.put(DEPLOYMENTS, make(DEPLOYMENTS, "a", 12, uid="u"))


def test_the_deletion_of_an_old_object_leaves_a_new_one_of_its_name() -> None:
    cache = Cache()
    cache.put(DEPLOYMENTS, make(DEPLOYMENTS, "a", 20, uid="new"))
    cache.drop(DEPLOYMENTS, "team", "a", "old", version="15")
    assert cache.get(DEPLOYMENTS, "team", "a") is not None


def test_an_object_whose_label_comes_back_is_known_again() -> None:
    """A label that is removed looks like a deletion to a watch with a selector; the uid stays."""
    cache = Cache()
    cache.put(CONFIG_MAPS, make(CONFIG_MAPS, "a", 10, uid="u"))
    cache.drop(CONFIG_MAPS, "team", "a", "u", version="11")
    assert cache.put(CONFIG_MAPS, make(CONFIG_MAPS, "a", 12, uid="u"))


def test_deleted_objects_are_not_remembered_without_bound() -> None:
    cache = Cache()
    for number in range(10_000):
        cache.drop(PODS, "team", "p", f"uid-{number}", version="5")
    assert len(cache._deleted) <= 4096


def test_pods_of_a_model_that_is_called_like_the_stem_of_another_are_not_the_others() -> None:
    cache, twin = Cache(), names.stem("A.B")
    for model in ("A.B", twin):
        one = make(PODS, f"pod-of-{len(model)}", 1, stem=twin)
        one["metadata"]["annotations"] = names.child_annotations(model)
        cache.put(PODS, one)
    for model in ("A.B", twin):
        assert [pod["metadata"]["name"] for pod in cache.pods("team", model)] == [f"pod-of-{len(model)}"]


def test_children_are_found_by_the_models_label_in_their_namespace_alone() -> None:
    cache = Cache()
    for name, namespace, stem in (("b", "team", "m"), ("a", "team", "m"), ("c", "team", "other"), ("d", "else", "m")):
        cache.put(PODS, make(PODS, name, 1, namespace=namespace, stem=stem))
    assert [pod["metadata"]["name"] for pod in cache.pods("team", "m")] == ["a", "b"]
    assert not cache.children(DEPLOYMENTS, "team", "m")


def test_the_index_follows_a_changed_label_and_a_deletion() -> None:
    cache = Cache()
    cache.put(PODS, make(PODS, "a", 1, stem="m"))
    cache.put(PODS, make(PODS, "a", 2, stem="n"))
    assert not cache.pods("team", "m")
    assert len(cache.pods("team", "n")) == 1
    cache.drop(PODS, "team", "a", "Pod-a")
    assert not cache.pods("team", "n")
    assert not cache._by_stem


def test_models_are_listed_by_namespace_or_all() -> None:
    cache = Cache()
    for name, namespace in (("b", "one"), ("a", "two"), ("c", "one")):
        cache.put(MODELS, make(MODELS, name, 1, namespace=namespace))
    assert [m["metadata"]["name"] for m in cache.models()] == ["b", "c", "a"]
    assert [m["metadata"]["name"] for m in cache.models("one")] == ["b", "c"]


def test_field_ownership_and_the_last_applied_text_are_not_kept() -> None:
    obj = make(DEPLOYMENTS, "a", 1)
    obj["metadata"]["managedFields"] = [{"manager": "x"}]
    obj["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}", labels.OWNER: "a"}
    kept = prune(DEPLOYMENTS, obj)["metadata"]
    assert "managedFields" not in kept
    assert kept["annotations"] == {labels.OWNER: "a"}
    assert "managedFields" in obj["metadata"], "the caller's object is left as it was"


def test_of_a_pod_what_a_diagnosis_needs_is_kept() -> None:
    container = {"name": "runtime", "resources": {"limits": {"cpu": "1"}}, "env": [{"name": "X"}], "image": "i"}
    pod = make(PODS, "a", 1, spec={"nodeName": "n", "volumes": [{}], "containers": [container]}, status={"phase": "P"})
    kept = prune(PODS, pod)
    assert kept["spec"] == {
        "nodeName": "n",
        "containers": [{"name": "runtime", "resources": {"limits": {"cpu": "1"}}}],
    }
    assert kept["status"] == {"phase": "P"}


def test_models_of_another_class_and_their_children_are_left_out() -> None:
    cache = Cache("mine")
    theirs = {"spec": {}, "metadata": {"name": "a", "namespace": "n", "uid": "1", "resourceVersion": "1"}}
    own = {**theirs, "spec": {"operatorClass": "mine"}, "metadata": {**theirs["metadata"], "uid": "2"}}
    assert not cache.put(MODELS, theirs)
    assert cache.models() == []
    assert cache.has(MODELS, {"metadata": theirs["metadata"]})
    assert cache.put(MODELS, own)
    # A model that is made anew under its name for another operator takes its place.
    assert cache.put(MODELS, theirs | {"metadata": {**theirs["metadata"], "uid": "3", "resourceVersion": "5"}})
    assert cache.models() == []
    assert cache.selector.endswith("arriero.dev/operator-class=mine")
    assert Cache().selector.endswith("!arriero.dev/operator-class")


def test_a_model_that_another_operator_gives_up_is_followed_from_then_on() -> None:
    cache = Cache()
    cache.put(MODELS, make(MODELS, "a", 1, spec={"operatorClass": "theirs"}))
    assert cache.put(MODELS, make(MODELS, "a", 2, spec={}))
    assert not cache.has(MODELS, make(MODELS, "a", 3)), "a change of it that a watch has lost is noticed"
