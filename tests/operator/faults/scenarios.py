"""What users do to a model, each with what is to be there before, and what tells that the operator is done."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from arriero_operator.kube.errors import Conflict
from arriero_operator.kube.protocol import MODELS, Kube, Object
from tests.cluster.fakenodes import BY_HAND_SUFFIX
from tests.operator.faults.kubelet import BAD
from tests.operator.reconcile.models import model
from tests.support.kubectl import condition

NAME: Final = "tiny"
ONE: Final[Object] = {"name": "one", "uri": "hf://org/one"}
TWO: Final[Object] = {"name": "two", "uri": "hf://org/two"}

Act = Callable[[Kube, str], Awaitable[None]]
"""Does it, in a namespace."""
Done = Callable[[Object | None], bool]
"""Whether the model, or its absence, is as it is to be in the end."""


@dataclass(frozen=True)
class Scenario:
    """`before` is the spec of the model that serves already; None: there is none."""

    name: str
    before: dict[str, Any] | None
    act: Act
    done: Done
    by_hand: bool = False
    """Pods are played by the test's own kubelet, which lets the bad ones fail, and takes its time to end one."""

    def namespace(self, suffix: str) -> str:
        """A name for one run."""
        return f"{self.name}-{suffix}{BY_HAND_SUFFIX if self.by_hand else ''}"


def create(**spec: Any) -> Act:
    """Apply a model."""

    async def act(kube: Kube, namespace: str) -> None:
        made = model(NAME, **spec)
        made["metadata"]["namespace"] = namespace
        await kube.create(MODELS, made)

    return act


def change(**spec: Any) -> Act:
    """Edit its spec."""

    async def act(kube: Kube, namespace: str) -> None:
        await kube.merge_patch(MODELS, namespace, NAME, {"spec": spec})

    return act


async def delete(kube: Kube, namespace: str) -> None:
    """Delete it."""
    found = await kube.get(MODELS, namespace, NAME)
    try:
        await kube.delete(MODELS, namespace, NAME, uid=found["metadata"]["uid"])
    except Conflict as error:
        raise AssertionError("the model was replaced meanwhile") from error


def says(kind: str, status: str, reason: str = "") -> Done:
    """The condition speaks of the newest spec, and nothing is under way."""

    def done(obj: Object | None) -> bool:
        if obj is None:
            return False
        found = condition(obj, kind)
        current = found.get("observedGeneration") == obj["metadata"]["generation"]
        said = found.get("status") == status and reason in ("", found.get("reason"))
        return current and said and "progress" not in obj["status"]

    return done


def serves_only(*names: str) -> Done:
    """Exactly these names are served, and none is on its way in or out."""

    def done(obj: Object | None) -> bool:
        found = {(one["name"], one["state"]) for one in (obj or {}).get("status", {}).get("names", ())}
        return found == {(name, "Registered") for name in names} and READY(obj)

    return done


def gone(obj: Object | None) -> bool:
    """There is no model."""
    return obj is None


READY: Final = says("Ready", "True")
_LORA: Final = {"maxRank": 16, "maxActive": 2, "maxLoaded": 4}

SCENARIOS: Final = (
    Scenario("create", None, create(replicas=2), READY),
    Scenario("rollout", {"replicas": 2}, change(engine={"maxModelLen": 2048}), READY),
    Scenario("rollback", {}, change(model={"uri": BAD}), says("UpToDate", "False", "RolledBack"), by_hand=True),
    Scenario(
        "adapters", {"lora": {**_LORA, "adapters": [ONE]}}, change(lora={"adapters": [TWO]}), serves_only(NAME, "two")
    ),
    Scenario("up", {"replicas": 1}, change(replicas=3), READY),
    Scenario("down", {"replicas": 3}, change(replicas=1), READY),
    Scenario("zero", {"replicas": 1}, change(replicas=0), says("Ready", "True", "ScaledToZero"), by_hand=True),
    Scenario("delete", {"replicas": 2}, delete, gone, by_hand=True),
)
