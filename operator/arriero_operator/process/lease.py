"""Which of several operators works: one holds the Lease, the others stand by.

The holder renews every `retry` seconds; when it could not for `renew` seconds it must stop, before others, which wait
for `duration` seconds without a renewal, take over. Waiting is measured on the own clock, from the moment at which a
change of the Lease was seen: clocks of different nodes are never compared.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from arriero_operator.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from arriero_operator.kube.protocol import LEASES, Kube, Object

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds."""

    duration: float = 10.0
    renew: float = 7.0
    retry: float = 2.0


TIMES: Final = Times()


class LeaseLost(Exception):
    """The Lease could not be renewed in time, or another operator holds it: this process must end."""


def _utc() -> datetime:
    return datetime.now(UTC)


class Lease:
    """One candidate for the Lease `name` of `namespace`; `identity` is unique to the process."""

    def __init__(
        self,
        kube: Kube,
        namespace: str,
        name: str,
        identity: str,
        times: Times = TIMES,
        now: Callable[[], datetime] = _utc,
    ) -> None:
        self._kube = kube
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._times = times
        self._now = now
        self._seen: tuple[str, float] = ("", 0.0)
        self._holder = ""
        self._written: Object | None = None
        self.held = False

    async def acquire(self) -> None:
        """Wait until the Lease is held."""
        while True:
            if await self._try():
                break
            await asyncio.sleep(self._times.retry)
        self.held = True
        _log.info("Lease acquired", extra={"lease": self._name, "identity": self._identity})

    async def keep(self) -> None:
        """Renew until cancelled. Raises LeaseLost."""
        loop = asyncio.get_running_loop()
        renewed = loop.time()
        while True:
            await asyncio.sleep(self._times.retry)
            began = loop.time()
            try:
                async with asyncio.timeout_at(renewed + self._times.renew):
                    mine = await self._try()
            except TimeoutError:
                mine = False
            if mine:
                renewed = began
            elif self._other() or loop.time() >= renewed + self._times.renew:
                self.held = False
                why = f"held by {self._other()}" if self._other() else "not renewed in time"
                raise LeaseLost(f"lease {self._namespace}/{self._name}: {why}")

    async def release(self) -> None:
        """Let the next one take over at once. Does nothing when not held; never raises, nor waits for longer than after
        which the others take over anyway."""
        if not self.held:
            return
        self.held = False
        try:
            async with asyncio.timeout(self._times.renew):
                lease = await self._kube.get(LEASES, self._namespace, self._name)
                if lease["spec"].get("holderIdentity") == self._identity:
                    free = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": self._stamp()}
                    await self._write(lease, free)
        except (KubeError, TimeoutError) as error:
            _log.warning("Lease not released", extra={"lease": self._name, "error": str(error)})

    async def _try(self) -> bool:
        """Take or renew the Lease; False when another holds it or the API server does not play along."""
        try:
            lease = self._written or await self._kube.get(LEASES, self._namespace, self._name)
            self._look(lease)
            spec = lease.get("spec") or {}
            if not self._free(spec):
                return False
            self._written = await self._write(lease, self._claim(spec))
        except NotFound:
            self._written = None
            return await self._create()
        except Conflict:
            self._written = None
            return False
        except KubeError as error:
            _log.warning("Lease not reached", extra={"lease": self._name, "error": str(error)})
            return False
        self._look(self._written)
        return True

    def _free(self, spec: Object) -> bool:
        """Whether it may be taken: it is ours, nobody's, or not renewed for its whole duration while we looked."""
        holder = spec.get("holderIdentity") or ""
        if holder in ("", self._identity):
            return True
        patience = max(float(spec.get("leaseDurationSeconds") or 0), self._times.duration)
        return asyncio.get_running_loop().time() >= self._seen[1] + patience

    def _look(self, lease: Object) -> None:
        """Remember when the Lease was first seen in this version, and who holds it."""
        version = lease["metadata"]["resourceVersion"]
        if version != self._seen[0]:
            self._seen = (version, asyncio.get_running_loop().time())
        self._holder = (lease.get("spec") or {}).get("holderIdentity") or ""

    def _other(self) -> str:
        return "" if self._holder == self._identity else self._holder

    async def _create(self) -> bool:
        metadata = {"namespace": self._namespace, "name": self._name}
        body = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata}
        try:
            self._written = await self._kube.create(LEASES, {**body, "spec": self._claim({})})
        except AlreadyExists:
            return False
        except KubeError as error:
            _log.warning("Lease not created", extra={"lease": self._name, "error": str(error)})
            return False
        self._look(self._written)
        return True

    def _claim(self, spec: Object) -> Object:
        """The spec that says that the Lease is ours now."""
        claim: Object = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": int(self._times.duration),
            "renewTime": self._stamp(),
        }
        if spec.get("holderIdentity") != self._identity:
            transitions = int(spec.get("leaseTransitions") or 0)
            claim |= {"acquireTime": self._stamp(), "leaseTransitions": transitions + (1 if spec else 0)}
        return claim

    async def _write(self, lease: Object, spec: Object) -> Object:
        """The resourceVersion in the patch makes it fail where another was quicker."""
        metadata = {"resourceVersion": lease["metadata"]["resourceVersion"]}
        return await self._kube.merge_patch(LEASES, self._namespace, self._name, {"metadata": metadata, "spec": spec})

    def _stamp(self) -> str:
        return self._now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
