"""InferenceModels as a user writes them, and what their resource says."""

from typing import Any

from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object, condition


def model(name: str, **spec: Any) -> Object:
    """A small InferenceModel; `spec` adds or replaces top-level fields of the spec."""
    wanted = {"model": {"uri": "hf://org/tiny"}, **spec}
    return {
        "apiVersion": "arriero.dev/v1alpha1",
        "kind": "InferenceModel",
        "metadata": {"name": name},
        "spec": wanted,
    }


def read(kubectl: Kubectl, name: str) -> Object:
    """The resource as it stands."""
    return kubectl.json("get", "im", name)


def says(kubectl: Kubectl, name: str, kind: str, status: str, reason: str = "") -> Object | None:
    """The condition of that type, if it speaks of the resource's generation and has that status and reason."""
    obj = read(kubectl, name)
    found = condition(obj, kind)
    current = found.get("observedGeneration") == obj["metadata"]["generation"]
    fits = found.get("status") == status and reason in ("", found.get("reason"))
    return found if current and fits else None


def until(kubectl: Kubectl, name: str, kind: str, status: str, reason: str = "", timeout: float = 10) -> Object:
    """Wait until the condition says so."""

    def look() -> Object:
        found = says(kubectl, name, kind, status, reason)
        conditions = read(kubectl, name).get("status", {}).get("conditions", ())
        assert found, {one["type"]: (one["status"], one["reason"]) for one in conditions}
        return found

    return eventually(look, timeout)


def events(kubectl: Kubectl, name: str, reason: str = "") -> list[Object]:
    """Events of the model, by reason; those of an earlier model of the name do not count while there is one."""
    uid = kubectl.run("get", "im", name, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}")
    found = kubectl.items("events")
    mine = [event for event in found if event["involvedObject"]["name"] == name]
    mine = [event for event in mine if uid in ("", event["involvedObject"]["uid"])]
    return [event for event in mine if reason in ("", event["reason"])]


def patch_spec(kubectl: Kubectl, name: str, spec: Object) -> None:
    """Merge patch of the spec."""
    kubectl.patch("im", name, {"spec": spec})
