"""One model's world is brought into its wanted state: observe, decide, render, apply, report."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from arriero_operator.applying import obstacles
from arriero_operator.applying.access import url
from arriero_operator.applying.ensure import Children
from arriero_operator.applying.obstacles import Hesitation
from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Settings
from arriero_operator.decide.plan import retry_of
from arriero_operator.decide.situation import Situation
from arriero_operator.decide.status import Described, status
from arriero_operator.kube.errors import KubeError
from arriero_operator.kube.protocol import Kube
from arriero_operator.observing.live_pods import LivePods
from arriero_operator.observing.observe import deployment_of, observe
from arriero_operator.observing.pod_events import PodEvents
from arriero_operator.observing.runtime_client import RuntimeClient
from arriero_operator.observing.runtime_status import RuntimeStatuses
from arriero_operator.planning.holds import hold
from arriero_operator.planning.planner import Planner
from arriero_operator.planning.rollouts import Rollouts
from arriero_operator.pods import facts
from arriero_operator.reconcile import events
from arriero_operator.reconcile.asking import Asking
from arriero_operator.reconcile.assess import assess
from arriero_operator.reconcile.farewells import Farewells
from arriero_operator.reconcile.net import Net
from arriero_operator.reconcile.report import Reporter
from arriero_operator.reconcile.rest import rests
from arriero_operator.reconcile.waits import requeue_after, soonest, untold
from arriero_operator.registrations.files import NamesFiles
from arriero_operator.rounds.observed import Observed
from arriero_operator.rounds.round import Outcome, Round
from arriero_operator.watching.news import Expected
from arriero_operator.work.keys import Key
from arriero_operator.work.result import Reconcile, Result


@asynccontextmanager
async def make_reconcile(
    kube: Kube, cache: Cache, settings: Settings, expected: Expected, changed: Callable[[Key], None]
) -> AsyncIterator[Reconcile]:
    """The reconcile of the operator's queue, with the net below it.

    It calls `changed` with keys that are to be reconciled, and puts into `expected` what its own writes come back as.
    """
    async with RuntimeClient() as client:
        statuses = RuntimeStatuses(client.status, changed=changed)
        yield Net(Reconciler(kube, cache, settings, statuses, expected, changed=changed), kube, cache)


class Reconciler:
    """Reconciles InferenceModels by key."""

    def __init__(
        self,
        kube: Kube,
        cache: Cache,
        settings: Settings,
        statuses: RuntimeStatuses,
        expected: Expected,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        changed: Callable[[Key], None] = lambda key: None,
    ) -> None:
        self._kube = kube
        self._cache = cache
        self._expected = expected
        self._planner = Planner(kube, cache, settings, changed)
        self._statuses = statuses
        self._heard = PodEvents(kube)
        self._clock = clock
        self._registrations = NamesFiles(kube, cache)
        self._asking = Asking(cache, statuses, self._heard, self._registrations)
        self._children = Children(kube, cache, self._registrations, settings)
        self._live = LivePods(kube, cache, statuses, self._heard)
        self._rollouts = Rollouts(cache, self._planner.claim_modes, self._live)
        self._reporter = Reporter(kube)
        self._hesitation = Hesitation()
        self._farewells = Farewells(kube, cache, self._timestamp)

    async def __call__(self, key: Key) -> Result:
        """Raises KubeError where a retry may help, TerminalError where only a change does."""
        observed = observe(self._cache, self._statuses, self._heard, key)
        if observed is None:
            return await self._gone(key)
        self._farewells.seen(observed.model)
        farewell = await self._farewells.follow(key, observed.owner.uid)
        now = await self._begin(observed)
        again = None
        try:
            if not observed.spec.paused:
                again = await self._act(now)
            else:
                self._only_look(now)
        except KubeError as error:
            now.error = now.error or error
        self._hindered(now)
        await self._report(now, assess(self._cache, now))
        if not observed.spec.paused:
            await self._children.tidy(now)
        if now.error is not None:
            raise now.error
        again = untold(now) if observed.spec.paused else requeue_after(now, again)
        return Result(soonest(again, farewell))

    async def _begin(self, observed: Observed) -> Round:
        """The plan; where it cannot be made for now, what was accepted last stands."""
        error, moment = None, self._clock()
        try:
            if not observed.spec.paused:
                await self._children.regain(observed)
            plan = await self._planner.plan(observed)
        except KubeError as failed:
            plan, error = self._planner.held(observed), failed
        found = deployment_of(self._cache, observed)
        deployed = int(found["spec"].get("replicas", 1)) if found is not None else 0
        return Round(observed, plan, moment, deployed, error=error)

    async def _act(self, now: Round) -> float | None:
        """Bring all into the wanted state; how soon runtimes or Events are to be asked again. Raises KubeError."""
        again = await self._asking.ask(now)
        if await self._children.renew(now):
            now.plan = await self._planner.plan(now.observed)
        if await self._rollouts.decide(now, self._clock()):
            self._registrations.look(now)
        if await hold(now, self._live):
            self._registrations.look(now)
        self._asking.doubt(now)
        now.outcome = await self._children.ensure(now)
        return again

    def _only_look(self, now: Round) -> None:
        """A paused model: what is there is told, and neither changed nor asked."""
        now.outcome = Outcome(now.plan.refused)
        self._registrations.look(now)

    def _hindered(self, now: Round) -> None:
        """Take into the round what is to be told of requests that failed. Raises the error, while nothing is."""
        if now.error is None:
            self._hesitation.passed(now.key)
            return
        if not self._hesitation.tells(now.key, now.observed.model):
            raise now.error
        refused = now.outcome.refused or now.plan.refused
        hindered = now.outcome.hindered or obstacles.words(now.error)
        now.outcome = replace(now.outcome, refused=refused, hindered=hindered)

    async def _gone(self, key: Key) -> Result:
        """The garbage collector removes the children."""
        again = await self._farewells.follow(key)
        self._statuses.retain(key, ())
        self._registrations.retain(key, ())
        self._rollouts.forget(key)
        self._reporter.forget(key)
        self._children.forget(key)
        self._planner.forget(key)
        self._heard.forget(key)
        self._hesitation.passed(key)
        return Result(again, gone=again is None)

    async def _report(self, now: Round, situation: Situation) -> None:
        observed = now.observed
        served = now.registrations.get(situation.wanted)
        described = Described(
            name=observed.key[1],
            url=url(now),
            resolved=observed.spec.model.uri,
            commit=served.content.commit if served else "",
            profile=now.plan.profile,
            accelerators=now.plan.inputs.accelerators if now.plan.inputs else {},
        )
        await self._write(now, status(situation, described, observed.before, self._timestamp()))

    async def _write(self, now: Round, new: Mapping[str, Any]) -> None:
        """Write the status where it says something new, and tell of the step in Events."""
        before, model, resting = now.observed.before, now.observed.model, rests(now, new)
        if resting:
            self._expected.put({**model, "status": new})
        written = await self._reporter.report(model, dict(new))
        if written is None or not resting:
            self._expected.drop(now.observed.owner.uid)
        if written is not None:
            if resting:
                self._planner.settled(now.key)
            now.observed = replace(now.observed, model=model | {"status": written})
            tally = self._farewells.tally(now.key, now.observed.owner.uid)
            found = events.derive(before, written, tally, retry_of(now.observed.model))
            await events.emit(self._kube, now.observed.model, found, self._timestamp())

    def _timestamp(self) -> str:
        return facts.timestamp(self._clock())
