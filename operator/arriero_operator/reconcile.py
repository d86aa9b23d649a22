"""One model's world is brought into its wanted state: observe, decide, render, apply, report."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, Final

from arriero_api import labels
from arriero_api.contract import Failure
from arriero_operator import events, facts, revisions
from arriero_operator.apply import Applier, ChildProblem, Leaving, Part
from arriero_operator.cache import Cache
from arriero_operator.curiosity import Questions, questions, requeue_after
from arriero_operator.decide import registered
from arriero_operator.decide.plan import Plan, plan
from arriero_operator.decide.situation import NameState, Situation
from arriero_operator.decide.status import Described, status
from arriero_operator.diagnose.model import model_failure
from arriero_operator.diagnose.stage import stage
from arriero_operator.keys import Key
from arriero_operator.kube.protocol import CONFIG_MAPS, DEPLOYMENTS, PODS, REVISIONS, SERVICES, Kube, Object
from arriero_operator.observe import Observed, deployment_of, observe, pods_of, revisions_of
from arriero_operator.queue import Reconcile, Result
from arriero_operator.registrations import LiveRegistrations, Wanted
from arriero_operator.render import children, names
from arriero_operator.report import Reporter
from arriero_operator.revisions import Revision
from arriero_operator.runtime_status import RuntimeStatuses
from arriero_operator.settings import Settings
from arriero_operator.shutdown import Farewells

OPERATOR: Final = metadata.version("arriero")
_LEAVING: Final = 0.5
_WITHHELD: Final = 5.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of applying: a refusal by the API server, and when to look again without being told (seconds)."""

    refused: Failure | None = None
    retry_after: float | None = None


@dataclass(slots=True)
class Pass:
    """One reconcile under way: what was observed, what is planned, which registrations each revision is to serve."""

    observed: Observed
    plan: Plan
    wanted: dict[str, Wanted] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return self.observed.key


def make_reconcile(kube: Kube, cache: Cache, settings: Settings) -> Reconcile:
    """The reconcile of the operator's queue."""
    return Reconciler(kube, cache, settings, RuntimeStatuses())


class Reconciler:
    """Reconciles InferenceModels by key."""

    def __init__(
        self,
        kube: Kube,
        cache: Cache,
        settings: Settings,
        statuses: RuntimeStatuses,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._kube = kube
        self._cache = cache
        self._settings = settings
        self._statuses = statuses
        self._clock = clock
        self._applier = Applier(kube, cache)
        self._registrations = LiveRegistrations(kube, cache)
        self._reporter = Reporter(kube)
        self._farewells = Farewells(kube, cache, self._now)

    async def __call__(self, key: Key) -> Result:
        """Raises KubeError where a retry may help, TerminalError where only a change does."""
        observed = observe(self._cache, self._statuses, key)
        if observed is None:
            return await self._gone(key)
        self._farewells.seen(observed.model)
        now = Pass(observed, self._plan(observed))
        asked = await self._ask(now)
        await self._withdraw(now)
        outcome = await self._apply(now)
        situation = self._decide(now, outcome)
        await self._report(now, situation)
        await self._tidy(now)
        return Result(self._next(now, asked, situation, outcome))

    async def _gone(self, key: Key) -> Result:
        """The garbage collector removes the children."""
        again = await self._farewells.follow(key)
        self._statuses.retain(key, ())
        self._registrations.retain(key, ())
        self._reporter.forget(key)
        self._applier.forget(key[0], names.stem(key[1]))
        return Result(again)

    def _plan(self, observed: Observed) -> Plan:
        neighbours = self._cache.models(observed.key[0])
        stored = revisions_of(self._cache, observed)
        return plan(observed.owner, observed.model, observed.spec, self._settings, neighbours, stored, OPERATOR)

    async def _ask(self, now: Pass) -> Questions:
        """Ask the runtimes that somebody waits for, and take their word into what was observed."""
        pods = now.observed.pods
        self._statuses.retain(now.key, (pod.uid for pod in pods))
        self._registrations.retain(now.key, (pod.uid for pod in pods))
        self._want(now)
        self._trust(now)
        asked = questions(now.observed, now.plan, self._proven(now), self._statuses)
        for interval, asked_pods in asked.by_interval():
            await self._statuses.refresh(now.key, asked_pods, interval)
        now.observed = replace(now.observed, pods=pods_of(self._cache, self._statuses, now.key))
        self._want(now)
        return asked

    def _want(self, now: Pass) -> None:
        """The registrations of the wanted revision and of every other that has pods."""
        if now.plan.revision is None:
            return
        hashes = {now.plan.revision.hash, *(pod.revision for pod in now.observed.pods if pod.revision)}
        now.wanted = {
            one: self._registrations.wanted(now.observed.owner, one, now.plan.served, now.observed.pods, self._now())
            for one in sorted(hashes)
        }

    def _trust(self, now: Pass) -> None:
        """After a restart of the operator: what the status says of unchanged names was proven before."""
        said = {(name["name"], name["state"]) for name in now.observed.before.get("names") or ()}
        if said == {(one.name, registered.REGISTERED) for one in now.plan.served}:
            for wanted in now.wanted.values():
                if not wanted.fresh:
                    self._registrations.trust(now.key, now.observed.pods, wanted)

    def _proven(self, now: Pass) -> set[str]:
        """Uids of ready pods that are known to serve the names."""
        return {
            pod.uid
            for pod in now.observed.pods
            if pod.ready and pod.revision in now.wanted
            if self._registrations.proven(now.key, pod, now.wanted[pod.revision])
        }

    async def _withdraw(self, now: Pass) -> None:
        """Names that are not asked for any more leave the status before they leave the pods."""
        before = now.observed.before
        gone = registered.leaving(now.plan.names, before.get("names") or ())
        if not gone or now.plan.refused is not None:
            return
        said = [
            name | {"state": registered.UNREGISTERING} if name["name"] in gone else name for name in before["names"]
        ]
        await self._write(now, before | {"names": said})

    async def _apply(self, now: Pass) -> Outcome:
        """All children, in the order in which they need each other."""
        if now.plan.revision is None:
            return Outcome(now.plan.refused)
        try:
            await self._ensure(now, now.plan.revision)
        except ChildProblem as problem:
            return Outcome(problem.failure, problem.retry_after)
        except Leaving:
            return Outcome(None, _LEAVING)
        return Outcome()

    async def _ensure(self, now: Pass, revision: Revision) -> None:
        owner = now.observed.owner
        await self._one(now, REVISIONS, revision.record)
        for wanted in now.wanted.values():
            await self._one(now, CONFIG_MAPS, wanted.intent(owner))
        for wanted in now.wanted.values():
            await self._registrations.tell(now.key, now.observed.pods, wanted)
        await self._one(now, SERVICES, children.service(owner))
        replicas = now.observed.spec.replicas
        template = Part(labels.TEMPLATE_MANAGER, children.deployment_template(owner, revision.template))
        scale = Part(
            labels.MANAGER,
            children.deployment_scale(owner, replicas),
            opening=children.deployment_whole(owner, replicas, revision.template),
        )
        await self._applier.ensure(owner, DEPLOYMENTS, [template, scale])

    async def _one(self, now: Pass, kind: Any, intent: Object) -> None:
        await self._applier.ensure(now.observed.owner, kind, [Part(labels.MANAGER, intent)])

    def _decide(self, now: Pass, outcome: Outcome) -> Situation:
        observed, before = now.observed, now.observed.before
        wanted = now.plan.revision.hash if now.plan.revision else (before.get("model") or {}).get("wanted") or ""
        deployment = deployment_of(self._cache, observed)
        replicas = observed.spec.replicas
        return Situation(
            generation=observed.model["metadata"]["generation"],
            replicas=replicas,
            wanted=wanted,
            stage=stage(observed.pods, wanted),
            pods=observed.pods,
            names=self._names(now),
            refused=outcome.refused,
            failure=model_failure(observed.pods, wanted, replicas, deployment),
            mismatch=_mismatch(observed.pods, now.wanted.get(wanted)),
        )

    def _names(self, now: Pass) -> list[NameState]:
        before = now.observed.before.get("names") or ()
        if now.plan.refused is not None:
            kept = [name for name in before if name["state"] != registered.CONFLICT]
            lost = registered.name_states(now.plan.names, now.plan.lost, (), 0, 0) if now.plan.lost else []
            known = {name["name"] for name in kept}
            return [
                *(NameState(n["name"], n["kind"], n["state"], n.get("pods", 0), n.get("message", "")) for n in kept),
                *(one for one in lost if one.state == registered.CONFLICT and one.name not in known),
            ]
        ready = sum(pod.ready for pod in now.observed.pods if pod.live)
        return registered.name_states(now.plan.names, now.plan.lost, before, ready, len(self._proven(now)))

    async def _report(self, now: Pass, situation: Situation) -> None:
        observed = now.observed
        wanted = now.wanted.get(situation.wanted)
        described = Described(
            namespace=observed.key[0],
            name=observed.key[1],
            resolved=observed.spec.model.uri,
            commit=wanted.content.commit if wanted else "",
            accelerators=now.plan.inputs.accelerators if now.plan.inputs else {},
        )
        await self._write(now, status(situation, described, observed.before, self._now()))

    async def _write(self, now: Pass, wanted: Mapping[str, Any]) -> None:
        """Write the status where it says something new, and tell of the step in Events."""
        before = now.observed.before
        written = await self._reporter.report(now.observed.model, dict(wanted))
        if written is not None:
            now.observed = replace(now.observed, model=now.observed.model | {"status": written})
            await events.emit(self._kube, now.observed.model, events.derive(before, written), self._now())

    async def _tidy(self, now: Pass) -> None:
        """Remove revisions that nothing needs; that they have no pods is looked up live."""
        if now.plan.revision is None:
            return
        said = now.observed.before.get("model") or {}
        keep = (now.plan.revision.hash, said.get("serving"), said.get("lastGood"))
        for kind in (REVISIONS, CONFIG_MAPS):
            stored = self._cache.children(kind, now.key[0], now.observed.stem)
            for obj in revisions.surplus(stored, now.observed.pods, keep):
                if not _owned(obj, now.observed) or await self._has_pods(now, revisions.hash_of(obj)):
                    continue
                await self._applier.remove(kind, obj)

    async def _has_pods(self, now: Pass, revision: str) -> bool:
        selector = f"{labels.MODEL}={now.observed.stem},{labels.REVISION}={revision}"
        return bool(await self._kube.list(PODS, now.key[0], selector, metadata_only=True))

    def _next(self, now: Pass, asked: Questions, situation: Situation, outcome: Outcome) -> float | None:
        waits = [outcome.retry_after, requeue_after(now.observed, self._proven(now), asked, situation)]
        if now.plan.lost:
            waits.append(_WITHHELD)
        return min((wait for wait in waits if wait is not None), default=None)

    def _now(self) -> str:
        return facts.timestamp(self._clock())


def _mismatch(pods: Any, wanted: Wanted | None) -> str:
    """Ready pods of the revision that serve another commit than the pinned one, in words."""
    if wanted is None or not wanted.content.commit:
        return ""
    pinned = wanted.content.commit
    other = sorted(
        pod.name
        for pod in pods
        if pod.ready and pod.revision == wanted.revision
        if pod.status and pod.status.commit not in ("", pinned)
    )
    return f"The revision is pinned to commit {pinned}, but another is served by: {', '.join(other)}." if other else ""


def _owned(obj: Mapping[str, Any], observed: Observed) -> bool:
    return any(ref["uid"] == observed.owner.uid for ref in obj["metadata"].get("ownerReferences") or ())
