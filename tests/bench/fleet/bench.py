"""The measurements, one function each. Times are wall seconds; CPU and memory are those of the operator's process."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.protocol import CONFIG_MAPS, DEPLOYMENTS, MODELS, REVISIONS, SERVICES, Kind, Object
from tests.bench.fleet import objects
from tests.bench.fleet.process import Usage
from tests.bench.fleet.waiting import Seen
from tests.support.audit import WRITES, AuditLog
from tests.support.kubectl import Kubectl
from tests.support.operator import OperatorProcess

AT_ONCE = 16
"""Requests in flight when objects are created."""
STORM_AT_ONCE = 2
"""The same when one object is changed: with more the API server mostly repeats what another request has overtaken."""
READY = '{.status.conditions[?(@.type=="Ready")].status}'
_LIMIT = 3_600.0
_NOT_COUNTED = ("leases", "selfsubjectaccessreviews", "")
"""The Lease is written at any number; questions for rights are asked at a start and create nothing."""
_CHILDREN = (REVISIONS, CONFIG_MAPS, SERVICES, DEPLOYMENTS)


@dataclass
class Requests:
    """Requests of one user by verb and resource."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    @classmethod
    def of(cls, log: AuditLog, user: str) -> "Requests":
        """All of `user` since the log's start."""
        found = (one for one in log.requests() if one.user == user and one.resource not in _NOT_COUNTED)
        return cls(Counter((one.verb, one.resource) for one in found if one.subresource != "token"))

    @property
    def writes(self) -> int:
        """How many change something."""
        return sum(count for (verb, _), count in self.counts.items() if verb in WRITES)

    @property
    def reads(self) -> int:
        """How many do not, watches left out: they are few and long."""
        return sum(count for (verb, _), count in self.counts.items() if verb not in WRITES | {"watch"})

    def verbs(self, models: int) -> dict[str, float]:
        """Requests for each model by verb."""
        found: Counter[str] = Counter()
        for (verb, _), count in self.counts.items():
            found[verb] += count
        return {verb: round(count / models, 2) for verb, count in sorted(found.items())}


async def create(kube: ApiServer, wanted: Iterable[tuple[Kind, Object]]) -> None:
    """Create all, `AT_ONCE` at a time."""
    source = iter(wanted)

    async def worker() -> None:
        for kind, obj in source:
            await kube.create(kind, obj)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(worker())


async def floor(kube: ApiServer, kubectl: Kubectl, count: int, template: Object, record: Object) -> float:
    """Seconds until `count` Deployments made directly, with all that the operator makes beside them, are ready."""
    namespace = kubectl.namespace
    made = (
        pair
        for index in range(count)
        for pair in zip(_CHILDREN, objects.bare(namespace, f"bare-{index}", template, record), strict=True)
    )
    with Seen(kubectl, "deployments", "{.status.readyReplicas}", lambda value: value == "1") as seen:
        begun = time.monotonic()
        await create(kube, made)
        return await asyncio.to_thread(seen.wait, count, _LIMIT) - begun


async def apply(kube: ApiServer, kubectl: Kubectl, operator: OperatorProcess, count: int, log: AuditLog) -> Object:
    """`count` models from apply to Ready."""
    before = Usage.of(operator.pid)
    models = ((MODELS, objects.model(kubectl.namespace, f"model-{index}")) for index in range(count))
    with Seen(kubectl, "inferencemodels", READY, lambda value: value == "True") as seen:
        begun = time.monotonic()
        await create(kube, models)
        seconds = await asyncio.to_thread(seen.wait, count, _LIMIT) - begun
    await quiet(operator)
    after, requests = Usage.of(operator.pid), Requests.of(log, operator.user)
    return {
        "seconds": seconds,
        "cpu_ms_per_model": (after.cpu - before.cpu) * 1000 / count,
        "peak_mib": after.peak,
        "requests_per_model": (requests.writes + requests.reads) / count,
        "by_verb": requests.verbs(count),
    }


async def quiet(operator: OperatorProcess, still: float = 3.0, limit: float = 600.0) -> float:
    """Wait until the operator uses less than 5 % of a core for `still` seconds; the moment when it became so."""
    end = time.monotonic() + limit
    used, since = Usage.of(operator.pid).cpu, time.monotonic()
    while time.monotonic() < end:
        await asyncio.sleep(0.5)
        now = Usage.of(operator.pid).cpu
        if now - used > 0.05 * (time.monotonic() - since) + 0.02:
            used, since = now, time.monotonic()
        elif time.monotonic() - since >= still:
            return since
    raise TimeoutError(f"the operator is not quiet after {limit} s")


async def rest(operator: OperatorProcess, log: AuditLog, seconds: float = 60.0) -> Object:
    """What a minute without any change costs."""
    before = Usage.of(operator.pid).cpu
    await asyncio.sleep(seconds)
    requests = Requests.of(log, operator.user)
    return {
        "cpu_seconds": Usage.of(operator.pid).cpu - before,
        "writes": requests.writes,
        "reads": requests.reads,
        "mib": Usage.of(operator.pid).memory,
    }


async def restart(operator: OperatorProcess, log: AuditLog) -> Object:
    """From the start of the process until it is quiet again."""
    operator.stop()
    begun = time.monotonic()
    operator.start()
    await asyncio.to_thread(operator.wait_ready)
    seconds = await quiet(operator) - begun
    usage, requests = Usage.of(operator.pid), Requests.of(log, operator.user)
    return {
        "requests": {f"{verb} {resource}": count for (verb, resource), count in sorted(requests.counts.items())},
        "seconds": seconds,
        "cpu_seconds": usage.cpu,
        "writes": requests.writes,
        "reads": requests.reads,
        "peak_mib": usage.peak,
    }


async def change(kube: ApiServer, namespace: str, count: int, times: int = 10) -> Object:
    """Seconds from an alias in one model's spec to its ConfigMap, `times` models one after the other."""
    found = []
    for index in range(times):
        name = f"model-{index * (count // times)}"
        alias = f"changed-{index}"
        begun = time.monotonic()
        await kube.merge_patch(MODELS, namespace, name, {"spec": {"model": {"aliases": [alias]}}})
        while alias not in await _registrations(kube, namespace, name):
            await asyncio.sleep(0.02)
            if time.monotonic() - begun > 60:
                raise TimeoutError(f"{name} did not get its alias within 60 s")
        found.append(time.monotonic() - begun)
    found.sort()
    return {"median_seconds": found[len(found) // 2], "slowest_seconds": found[-1]}


async def storm(kube: ApiServer, namespace: str, operator: OperatorProcess, log: AuditLog, events: int) -> Object:
    """`events` changes of one model that change nothing for it: memory and work of the operator."""
    before = Usage.of(operator.pid)
    begun = time.monotonic()
    source = iter(range(events))

    async def worker() -> None:
        for number in source:
            patch = {"metadata": {"annotations": {"bench.example.com/number": str(number)}}}
            await kube.merge_patch(MODELS, namespace, "model-0", patch)

    async with asyncio.TaskGroup() as group:
        for _ in range(STORM_AT_ONCE):
            group.create_task(worker())
    lasted = time.monotonic() - begun
    await quiet(operator)
    after, requests = Usage.of(operator.pid), Requests.of(log, operator.user)
    return {
        "events": events,
        "seconds": lasted,
        "cpu_seconds": after.cpu - before.cpu,
        "grown_mib": after.peak - before.peak,
        "writes": requests.writes,
    }


async def _registrations(kube: ApiServer, namespace: str, name: str) -> str:
    found = await kube.list(CONFIG_MAPS, namespace, labels=f"arriero.dev/model={name}")
    return " ".join(str(one.get("data")) for one in found)
