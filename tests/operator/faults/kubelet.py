"""Stand-ins of what runs on nodes: runtimes that answer as their registrations say, and a kubelet for pods that fail.

Pods of namespaces that are not left to the test come to Running and Ready by themselves (tests/cluster); in the others
this kubelet does it, and lets those fail whose model is `BAD`.
"""

import asyncio
import json
from typing import Final

import aiohttp

from arriero_api import labels, pod
from arriero_api.contract import AdapterState, AdapterStatus, Phase, Registrations, RuntimeStatus
from arriero_operator.kube.paths import path_of
from arriero_operator.kube.protocol import CONFIG_MAPS, PODS, Object
from arriero_operator.render import names
from tests.cluster.fakenodes import BY_HAND_SUFFIX
from tests.operator.faults.feed import Feed
from tests.operator.reconcile.pods import now

BAD: Final = "hf://org/bad"
_END: Final = {
    "exitCode": 1,
    "reason": "Error",
    "message": json.dumps(
        {
            "schemaVersion": 1,
            "reason": "ModelNotFound",
            "message": "the hub knows no repository org/bad",
            "remedy": "Correct spec.model.uri.",
        }
    ),
}
DRAIN: Final = 1.0
"""Seconds that a pod takes to end."""


class Kubelet:
    """All nodes."""

    def __init__(self, server: str, feed: Feed) -> None:
        self._session = aiohttp.ClientSession(server)
        self._feed = feed
        self._addresses = 0
        self._tasks: dict[tuple[str, bool], asyncio.Task[None]] = {}
        feed.on_pod = self._see

    async def close(self) -> None:
        """Leave the pods alone from now on."""
        self._feed.on_pod = lambda pod: None
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await self._session.close()

    async def fetch(self, ip: str) -> RuntimeStatus:
        """What the runtime at the address answers to GET /status: all it was told to serve is served."""
        here = next((one for one in self._feed.objects[PODS].values() if one["status"].get("podIP") == ip), None)
        if here is None:
            raise OSError("no route to host")
        metadata = here["metadata"]
        name = names.revisioned(metadata["annotations"][labels.OWNER], metadata["labels"][labels.REVISION])
        file = self._feed.objects[CONFIG_MAPS].get((metadata["namespace"], name))
        if file is None:
            raise OSError("connection refused")
        told = Registrations.from_json(file["data"][pod.REGISTRATIONS_FILE])
        return RuntimeStatus(
            Phase.READY,
            registrations=told.hash,
            names=tuple(one.name for one in told.names),
            adapters=tuple(
                AdapterStatus(one.name, one.uri, one.revision, AdapterState.REGISTERED) for one in told.adapters
            ),
        )

    def _see(self, seen: Object) -> None:
        metadata = seen["metadata"]
        leaving = "deletionTimestamp" in metadata
        if not metadata["namespace"].endswith(BY_HAND_SUFFIX) or (metadata["uid"], leaving) in self._tasks:
            return
        if leaving:
            self._tasks[metadata["uid"], True] = asyncio.create_task(self._remove(metadata))
        elif seen["spec"].get("nodeName"):
            self._tasks[metadata["uid"], False] = asyncio.create_task(self._run(seen))

    async def _remove(self, metadata: Object) -> None:
        await asyncio.sleep(DRAIN)
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
        async with self._session.delete(_path(metadata), json=body) as answer:
            assert answer.status in (200, 404, 409), answer.status

    async def _run(self, seen: Object) -> None:
        self._addresses += 1
        failed = BAD in json.dumps(seen["spec"])
        state: Object = {"running": {"startedAt": now()}}
        last: Object = {}
        if failed:
            state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
            last = {"lastState": {"terminated": _END}, "restartCount": 1}
        container = {"name": "runtime", "image": "i", "imageID": "", "ready": not failed, "restartCount": 0}
        ip = f"127.67.{self._addresses // 250}.{1 + self._addresses % 250}"
        word = str(not failed)
        status = {
            "phase": "Pending" if failed else "Running",
            "podIP": ip,
            "podIPs": [{"ip": ip}],
            "hostIP": "127.0.0.1",
            "conditions": [
                {"type": kind, "status": word, "lastTransitionTime": now()} for kind in ("Ready", "ContainersReady")
            ],
            "containerStatuses": [container | {"state": state} | last],
        }
        kind = {"Content-Type": "application/strategic-merge-patch+json"}
        path = f"{_path(seen['metadata'])}/status"
        async with self._session.patch(path, data=json.dumps({"status": status}), headers=kind) as answer:
            assert answer.status in (200, 404), await answer.text()


def _path(metadata: Object) -> str:
    return f"{path_of(PODS, metadata['namespace'])}/{metadata['name']}"
