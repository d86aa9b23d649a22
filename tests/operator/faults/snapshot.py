"""What a namespace holds, without what differs between two runs that did the same: uids, versions, times, numbers."""

import json
import re
from typing import Any, Final

from arriero_api import labels
from arriero_operator.cache.store import CACHED
from arriero_operator.kube.protocol import DEPLOYMENTS, EVENTS, MODELS, PODS, SERVICES, Kind, Kube, Object
from tests.operator.faults.feed import Feed

REPLICA_SETS: Final = Kind("apps/v1", "ReplicaSet", "replicasets")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_ACCIDENTAL: Final = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "annotations")
_COUNTED: Final = ("replicas", "readyReplicas", "updatedReplicas")

Snapshot = dict[str, Any]


def snapshot(feed: Feed, namespace: str) -> Snapshot:
    """All children and pods, and what the model says; one entry for each kind."""
    found: Snapshot = {kind.kind: [_plain(kind, obj) for obj in feed.of(kind, namespace)] for kind in CACHED}
    found["Pod"].sort(key=json.dumps)
    text = json.dumps(found, sort_keys=True).replace(namespace, "NS")
    plain: Snapshot = json.loads(_TIME.sub("T", text))
    return plain


async def accessories(kube: Kube, namespace: str) -> Snapshot:
    """What only a look at the end can tell: ReplicaSets with how many pods they want, and Events."""
    sets = [
        [obj["metadata"]["labels"][labels.REVISION], obj["spec"]["replicas"]]
        for obj in await kube.list(REPLICA_SETS, namespace)
    ]
    told = [obj for obj in await kube.list(EVENTS, namespace) if obj["involvedObject"]["kind"] == labels.KIND]
    words = [json.dumps([one["type"], one["reason"], one["message"]]).replace(namespace, "NS") for one in told]
    return {"ReplicaSet": sorted(sets), "Event": sorted(words)}


def _plain(kind: Kind, obj: Object) -> Object:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _ACCIDENTAL}
    if kind is PODS:
        conditions = {one["type"]: one["status"] for one in obj["status"].get("conditions", ())}
        told = obj["metadata"].get("annotations", {}).get(labels.REGISTRATIONS, "")
        leaving = "deletionTimestamp" in obj["metadata"]
        return {"revision": metadata["labels"][labels.REVISION], "is": [conditions.get("Ready"), told, leaving]}
    metadata["ownerReferences"] = [owner | {"uid": ""} for owner in metadata.get("ownerReferences", ())]
    annotations = {key: _said(key, text) for key, text in (obj["metadata"].get("annotations") or {}).items()}
    annotations.pop(labels.OPENED, None)  # gone with the first write after the object was made, if there is one
    managers = sorted({one["manager"] for one in obj["metadata"]["managedFields"] if "arriero" in one["manager"]})
    metadata |= {"annotations": annotations, "managers": managers}
    plain = {key: value for key, value in obj.items() if key not in ("metadata", "status", "apiVersion", "kind")}
    if kind is SERVICES:
        plain["spec"] = {key: value for key, value in plain["spec"].items() if key not in ("clusterIP", "clusterIPs")}
    status = obj.get("status") or {}
    if kind is DEPLOYMENTS:
        status = {key: status.get(key) for key in _COUNTED}
    elif kind is not MODELS:
        status = {}
    return {"metadata": metadata, "status": status, **plain}


def _said(annotation: str, text: str) -> str:
    """Digests are of intents that name the namespace and the owner's uid."""
    return "DIGEST" if annotation.startswith(labels.DIGEST_PREFIX) else text
