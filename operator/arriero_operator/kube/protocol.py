"""The narrow protocol through which everything but the edge reaches the API server: plain dicts, typed errors."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Object = dict[str, Any]
"""A Kubernetes object as JSON."""

Objects = list[Object]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object: where its REST path is. `api_version` is for example "apps/v1", `plural` "deployments"."""

    api_version: str
    kind: str
    plural: str


MODELS = Kind("arriero.dev/v1alpha1", "InferenceModel", "inferencemodels")
DEPLOYMENTS = Kind("apps/v1", "Deployment", "deployments")
REVISIONS = Kind("apps/v1", "ControllerRevision", "controllerrevisions")
CONFIG_MAPS = Kind("v1", "ConfigMap", "configmaps")
SERVICES = Kind("v1", "Service", "services")
PODS = Kind("v1", "Pod", "pods")
EVENTS = Kind("v1", "Event", "events")
BUDGETS = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
CLAIMS = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
POLICIES = Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
SECRETS = Kind("v1", "Secret", "secrets")
PRIORITY_CLASSES = Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses")
RUNTIME_CLASSES = Kind("node.k8s.io/v1", "RuntimeClass", "runtimeclasses")
STORAGE_CLASSES = Kind("storage.k8s.io/v1", "StorageClass", "storageclasses")
LEASES = Kind("coordination.k8s.io/v1", "Lease", "leases")

CHILDREN = (REVISIONS, CONFIG_MAPS, DEPLOYMENTS, SERVICES, BUDGETS, POLICIES, CLAIMS)


@dataclass(frozen=True, slots=True)
class Scope:
    """Objects of `kind` that the selectors of labels and fields match, in `namespace`; in all where that is empty.
    `metadata_only`: nothing else of them is asked for."""

    kind: Kind
    namespace: str
    labels: str = ""
    metadata_only: bool = False
    fields: str = ""


class Source(Protocol):
    """Where objects of a scope are listed and watched. Both raise errors of `arriero_operator.kube.errors`."""

    def listing(self, scope: Scope) -> AsyncIterator[tuple[str, Objects]]:
        """All objects page by page, each with the version of the list, which is that of the last page where they
        differ."""

    def watch(self, scope: Scope, version: str, *, seconds: int, silence: float) -> AsyncGenerator[Object, None]:
        """A watch's own events after `version`, bookmarks and errors among them.

        Ends when the API server ends it, after `seconds`, when it is cut, and after `silence` seconds without a word.
        Raises only where it does not begin, or tells what is no event.
        """


class Kube(Source, Protocol):
    """One API server. Every method raises errors of `arriero_operator.kube.errors` and bounds its own waiting."""

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """One object, live. Raises NotFound."""

    async def list(
        self, kind: Kind, namespace: str | None = None, labels: str = "", metadata_only: bool = False
    ) -> Objects:
        """All objects of a kind that match the label selector, live; of all namespaces when `namespace` is None."""

    def each(self, kind: Kind, namespace: str | None = None, labels: str = "") -> AsyncIterator[Object]:
        """The same objects as `list` finds, of which only some are in memory at once. One may come twice."""

    async def events_about(self, namespace: str, uid: str) -> Objects:
        """All Events about the object of that uid, live."""

    async def create(self, kind: Kind, obj: Object) -> Object:
        """Creates; raises AlreadyExists."""

    async def apply(
        self, kind: Kind, obj: Object, *, manager: str, force: bool = True, subresource: str = ""
    ) -> Object:
        """Server-side apply of the complete intent of one field manager. Raises Conflict, Invalid."""

    async def try_create(self, kind: Kind, obj: Object) -> None:
        """What create would raise, and Invalid for fields that the API server does not know; nothing is changed."""

    async def merge_patch(self, kind: Kind, namespace: str, name: str, patch: Mapping[str, Any]) -> Object:
        """JSON merge patch; never creates. Put metadata.uid into the patch as a precondition.

        Raises NotFound, Conflict.
        """

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> None:
        """Deletes in the background if the uid still matches; an absent object is no error."""
