"""The Service of a model: its name, port, type, labels and annotations, and the URL that they give."""

import pytest

from tests.operator.reconcile.models import model, patch_spec, read, until
from tests.operator.reconcile.pods import Pods
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, KubectlError, Object

pytestmark = pytest.mark.control_plane


def service(kubectl: Kubectl, name: str) -> Object:
    """The Service, once it is there."""
    eventually(lambda: kubectl.exists("service", name))
    return kubectl.json("get", "service", name)


def url(kubectl: Kubectl, wanted: str) -> None:
    """Wait until the status says so."""
    eventually(lambda: read(kubectl, "tiny").get("status", {}).get("url") == wanted)


def test_the_service_is_as_the_spec_says_and_follows_it_without_a_new_pod(served: Kubectl) -> None:
    wanted = {"name": "chat", "port": 8000, "annotations": {"team": "nlp"}, "labels": {"tier": "front"}}
    served.apply(model("tiny", service=wanted))
    (pod,) = Pods(served, "tiny").placed()
    made = service(served, "chat")
    assert made["metadata"]["annotations"]["team"] == "nlp"
    assert made["metadata"]["labels"] | {"tier": "front"} == made["metadata"]["labels"]
    assert [(one["port"], one["targetPort"]) for one in made["spec"]["ports"]] == [(8000, 8080)]
    assert not served.exists("service", "tiny")
    url(served, f"http://chat.{served.namespace}.svc:8000")
    patch_spec(served, "tiny", {"service": {"type": "NodePort", "port": 80, "annotations": None, "labels": None}})
    url(served, f"http://chat.{served.namespace}.svc")

    def changed() -> bool:
        now = served.json("get", "service", "chat")
        assert (now["spec"]["type"], [one["port"] for one in now["spec"]["ports"]]) == ("NodePort", [80])
        return "team" not in now["metadata"]["annotations"] and "tier" not in now["metadata"]["labels"]

    eventually(changed)
    patch_spec(served, "tiny", {"service": {"type": "ClusterIP"}})
    eventually(lambda: served.json("get", "service", "chat")["spec"]["type"] == "ClusterIP")
    assert "nodePort" not in served.json("get", "service", "chat")["spec"]["ports"][0]
    assert [one["metadata"]["uid"] for one in Pods(served, "tiny").live()] == [pod["metadata"]["uid"]]


def test_a_renamed_service_takes_the_place_of_the_old_one_but_never_of_anothers(served: Kubectl) -> None:
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "database"},
        "spec": {"ports": [{"port": 5432}], "selector": {"app": "database"}},
    }
    served.apply(foreign)
    before = served.json("get", "service", "database")
    served.apply(model("tiny"))
    service(served, "tiny")
    patch_spec(served, "tiny", {"service": {"name": "database"}})
    until(served, "tiny", "Accepted", "False", "ChildNameTaken")
    assert served.json("get", "service", "database") == before
    assert served.exists("service", "tiny")
    url(served, f"http://tiny.{served.namespace}.svc")
    patch_spec(served, "tiny", {"service": {"name": "chat"}})
    service(served, "chat")
    eventually(lambda: not served.exists("service", "tiny"))
    until(served, "tiny", "Accepted", "True")
    url(served, f"http://chat.{served.namespace}.svc")
    served.run("delete", "service", "database")


def test_the_class_of_a_model_cannot_be_changed(served: Kubectl) -> None:
    served.apply(model("tiny"))
    with pytest.raises(KubectlError, match="delete the model and create it anew"):
        patch_spec(served, "tiny", {"operatorClass": "other"})


def test_a_model_of_another_class_is_left_alone_wholly(served: Kubectl) -> None:
    served.apply(model("foreign", operatorClass="other"))
    served.apply(model("tiny", model={"uri": "hf://org/tiny", "aliases": ["foreign"]}))
    Pods(served, "tiny").placed()
    until(served, "tiny", "Accepted", "True")
    foreign = served.json("get", "im", "foreign", "--show-managed-fields")
    assert "status" not in foreign
    assert {one["manager"] for one in foreign["metadata"]["managedFields"]} == {"kubectl-client-side-apply"}
    assert not served.items("deployments,services,configmaps,controllerrevisions", "arriero.dev/model=foreign")
    assert [one for one in served.items("events") if one["involvedObject"]["name"] == "foreign"] == []
