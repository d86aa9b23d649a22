"""What the operator last saw of its objects: pruned, indexed, and never older than before.

Watch events and the responses of the operator's own writes both end here. Objects are shared, not copied: callers
must not change them.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Container, Iterable
from typing import Any, Final

from arriero_api import labels
from arriero_api.labels import DEFAULT_CLASS
from arriero_operator.cache.keys import class_of, selector
from arriero_operator.cache.last_words import LastWords
from arriero_operator.cache.rivals import Rivals
from arriero_operator.cache.texts import Texts
from arriero_operator.kube.protocol import CHILDREN, MODELS, PODS, Kind, Object
from arriero_operator.render import names
from arriero_operator.render.owner import is_labelled, names_model

CACHED: Final = (MODELS, *CHILDREN, PODS)

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_CONTAINER_FIELDS: Final[tuple[str, ...]] = ("name", "resources", "restartPolicy")
_POD_FIELDS: Final[tuple[str, ...]] = ("nodeName", "terminationGracePeriodSeconds", "readinessGates", "resources")
_CONTAINERS: Final[tuple[str, ...]] = ("containers", "initContainers")
_REMEMBERED: Final = 4096
"""How many deleted objects are remembered, so that a late event does not bring them back."""


class Cache:
    """Objects by kind, namespace and name, and by the model that they belong to.

    Those of models of another operator's class are left out.
    """

    def __init__(self, operator_class: str = DEFAULT_CLASS) -> None:
        self._class = operator_class
        self.selector = selector(operator_class)
        """Of the children of this operator's models."""
        self._foreign: dict[str, tuple[str, str]] = {}
        self._objects: dict[str, dict[tuple[str, str], Object]] = {kind.kind: {} for kind in CACHED}
        self._by_stem: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        self._deleted: OrderedDict[str, int] = OrderedDict()
        self.last_words = LastWords()
        self._rivals = Rivals()
        self._texts = Texts()

    def put(self, kind: Kind, obj: Object) -> bool:
        """Keep the pruned object. False when something newer, or the object's deletion, was seen before.

        One of another operator takes the place of an earlier one of this operator's; nothing else comes of it.
        """
        metadata = obj["metadata"]
        place = (metadata["namespace"], metadata["name"])
        if class_of(kind, obj) != self._class:
            return self._displaced(kind, place, metadata["uid"])
        self._foreign.pop(metadata["uid"], None)
        version = _version(obj)
        if version <= self._deleted.get(metadata["uid"], -1):
            return False
        known = self._objects[kind.kind].get(place)
        if known is not None:
            if version <= _version(known):
                return version == _version(known)
            self._unindex(kind, known)
        pruned = prune(kind, obj)
        if kind is MODELS:  # the others were read by `kube.parsing`
            pruned = self._texts.shared(pruned)
        self._objects[kind.kind][place] = pruned
        if stem := _stem(pruned):
            self._by_stem[(kind.kind, place[0], stem)].add(place[1])
        if kind is MODELS:
            self._rivals.put(pruned)
        return True

    def drop(self, kind: Kind, namespace: str, name: str, uid: str, version: str = "") -> None:
        """Forget a deleted object; another one of the same name stays.

        `version` is the resourceVersion of the deletion where it is known: an event of the same uid that is not newer
        is ignored from now on.
        """
        self._foreign.pop(uid, None)
        known = self._objects[kind.kind].get((namespace, name))
        mine = known is not None and known["metadata"]["uid"] == uid
        seen = max(int(version or 0), _version(known) if known is not None and mine else 0)
        self._deleted[uid] = max(seen, self._deleted.pop(uid, 0))
        while len(self._deleted) > _REMEMBERED:
            self._deleted.popitem(last=False)
        if known is not None and mine and _version(known) <= self._deleted[uid]:
            self._unindex(kind, known)
            del self._objects[kind.kind][(namespace, name)]
            if kind is PODS:
                self.last_words.gone(known)
            if kind is MODELS:
                self._rivals.drop(namespace, name)

    def forget(self, namespace: str) -> None:
        """Nothing is known of the namespace any more; whatever is told of it later counts."""
        for kind in CACHED:
            objects = self._objects[kind.kind]
            for place in [place for place in objects if place[0] == namespace]:
                self._unindex(kind, objects.pop(place))
                if kind is MODELS:
                    self._rivals.drop(*place)
            self.retain_foreign(kind, namespace, ())

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """The object as last seen, or None."""
        return self._objects[kind.kind].get((namespace, name))

    def has(self, kind: Kind, obj: Object) -> bool:
        """Whether the object, of which metadata suffices, is known in this or a newer version, or as deleted."""
        if obj["metadata"]["uid"] in self._foreign:
            return True
        known = self.get(kind, obj["metadata"]["namespace"], obj["metadata"]["name"])
        seen = -1 if known is None else _version(known)
        return _version(obj) <= max(seen, self._deleted.get(obj["metadata"]["uid"], -1))

    def retain_foreign(self, kind: Kind, namespace: str | None, uids: Container[str]) -> None:
        """Forget objects of other operators that are gone: these are all of the kind in the namespace, or in all."""
        for uid, (of, place) in list(self._foreign.items()):
            if of == kind.kind and namespace in (None, place) and uid not in uids:
                del self._foreign[uid]

    def children(self, kind: Kind, namespace: str, stem: str) -> list[Object]:
        """All objects of the kind that carry the model's label, by name."""
        names = self._by_stem.get((kind.kind, namespace, stem), ())
        return [self._objects[kind.kind][(namespace, name)] for name in sorted(names)]

    def pods(self, namespace: str, model: str) -> list[Object]:
        """All pods of the model, by name; not those that tell of another one, which may have the same stem."""
        found = self.children(PODS, namespace, names.stem(model))
        return [pod for pod in found if names_model(pod) in ("", model)]

    def models(self, namespace: str | None = None) -> list[Object]:
        """All InferenceModels, of one namespace or of all, by namespace and name."""
        found = self._objects[MODELS.kind]
        return [found[place] for place in sorted(found) if namespace in (None, place[0])]

    def rivals(self, namespace: str, names: Iterable[str]) -> list[Object]:
        """The InferenceModels of the namespace that ask for one of these served names or hold it."""
        found = self._objects[MODELS.kind]
        return [found[(namespace, model)] for model in self._rivals.of(namespace, names)]

    def all(self, kind: Kind) -> list[Object]:
        """All objects of the kind."""
        return list(self._objects[kind.kind].values())

    def count(self, kind: Kind) -> int:
        """How many objects of the kind are known."""
        return len(self._objects[kind.kind])

    def _displaced(self, kind: Kind, place: tuple[str, str], uid: str) -> bool:
        """Remember an object of another operator; True where one of this operator's had its name."""
        self._foreign[uid] = (kind.kind, place[0])
        known = self._objects[kind.kind].get(place)
        if known is None:
            return False
        self._unindex(kind, known)
        del self._objects[kind.kind][place]
        if kind is MODELS:
            self._rivals.drop(*place)
        return True

    def _unindex(self, kind: Kind, obj: Object) -> None:
        if stem := _stem(obj):
            place = (kind.kind, obj["metadata"]["namespace"], stem)
            self._by_stem[place].discard(obj["metadata"]["name"])
            if not self._by_stem[place]:
                del self._by_stem[place]


def prune(kind: Kind, obj: Object) -> Object:
    """A copy without what no decision needs: field ownership, last-applied, and most of a pod's spec."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    if _LAST_APPLIED in metadata.get("annotations", {}):
        metadata["annotations"] = {k: v for k, v in metadata["annotations"].items() if k != _LAST_APPLIED}
    pruned = {**obj, "metadata": metadata}
    if kind is PODS and "spec" in obj:
        pruned["spec"] = _prune_pod(obj["spec"])
    return pruned


def is_watched(kind: Kind, obj: Object) -> bool:
    """Whether the object is one that the operator watches: an InferenceModel or labelled as its child or pod."""
    return kind in CACHED and (kind is MODELS or is_labelled(obj))


def _prune_pod(spec: dict[str, Any]) -> dict[str, Any]:
    """What `pods.facts.pod_facts` reads."""
    kept = {key: spec[key] for key in _POD_FIELDS if key in spec}
    for key in _CONTAINERS:
        if found := spec.get(key):
            kept[key] = [{field: one[field] for field in _CONTAINER_FIELDS if field in one} for one in found]
    return kept


def _stem(obj: Object) -> str:
    stem: str = obj["metadata"].get("labels", {}).get(labels.MODEL, "")
    return stem


def _version(obj: Object) -> int:
    """Kubernetes 1.35 and newer promise comparable versions; older servers have handed out nothing else."""
    return int(obj["metadata"]["resourceVersion"])
