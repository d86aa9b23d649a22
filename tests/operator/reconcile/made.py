"""Pods, failures and situations made by hand for the pure tests."""

from datetime import UTC, datetime
from typing import Any

from arriero_api.contract import Failure, Phase, Progress, RuntimeStatus
from arriero_operator.cache.store import prune
from arriero_operator.decide.situation import NameState, Situation
from arriero_operator.diagnose.failures import failure
from arriero_operator.diagnose.stage import Stage
from arriero_operator.kube.protocol import PODS, Object
from arriero_operator.pods.facts import Ended, PodFacts, pod_facts
from arriero_operator.render.inputs import Inputs
from arriero_operator.revisions.lineage import Choice, Lineage

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
NEW, OLD = "new", "old"


def pod(name: str = "a", revision: str = NEW, **facts: Any) -> PodFacts:
    """A pod that has a node and no container yet."""
    made: dict[str, Any] = {"name": name, "uid": f"uid-{name}", "created": START, "revision": revision}
    return PodFacts(**made | {"scheduled": True} | facts)


def ready(name: str = "a", revision: str = NEW, **facts: Any) -> PodFacts:
    """A pod that answers."""
    return pod(name, revision, **{"ready": True, "ip": "127.0.0.9", "running_since": START, "phase": "Running"} | facts)


def running(name: str = "a", revision: str = NEW, **facts: Any) -> PodFacts:
    """A pod whose container runs and is not ready."""
    return pod(name, revision, **{"ip": "127.0.0.9", "running_since": START, "phase": "Running"} | facts)


def seen(obj: Object) -> PodFacts:
    """The facts of a pod's JSON: the same of what the cache keeps of it."""
    found = pod_facts(prune(PODS, obj))
    assert found == pod_facts(obj)
    return found


def loading(phase: Phase, percent: int | None = None, found: Failure | None = None) -> RuntimeStatus:
    """The answer of a runtime that starts or has failed."""
    return RuntimeStatus(phase, Progress(percent, "words"), failure=found)


def crash(reason: str = "Error", code: int = 1, message: str = "") -> Ended:
    """The end of a container."""
    return Ended(reason, code, message)


def chosen(inputs: Inputs) -> Choice:
    """The revision of these inputs."""
    return Choice(inputs, Lineage("spec"))


def situation(**facts: Any) -> Situation:
    """One wanted replica, accepted, nothing else."""
    names = (NameState("tiny", "Model", "Registered", 1),)
    start = Stage("Loading", None, "loading the model")
    made: dict[str, Any] = {
        "generation": 3,
        "replicas": 1,
        "wanted": NEW,
        "applied": NEW,
        "stage": start,
        "names": names,
    }
    return Situation(**made | facts)


NOT_FOUND = failure("ModelNotFound", "the hub knows no repository org/tiny")
KILLED = failure("OOMKilled", "the kernel ended the container for its memory")
REFUSED = failure("ProfileUnknown", "spec.profile: 'x' is not one of: cpu")
