"""What a pod said of its names before they were changed proves nothing of them, also where they come back."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from arriero_api import labels
from arriero_api.contract import (
    AdapterState,
    AdapterStatus,
    NameKind,
    Phase,
    Registration,
    Registrations,
    RuntimeStatus,
)
from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Profile, Settings
from arriero_operator.decide import adapters
from arriero_operator.decide.plan import Plan
from arriero_operator.kube.protocol import CONFIG_MAPS, PODS
from arriero_operator.observing.observe import pods_of
from arriero_operator.observing.pod_events import PodEvents
from arriero_operator.observing.runtime_status import RuntimeStatuses
from arriero_operator.pods.facts import timestamp
from arriero_operator.reconcile.reconciler import Reconciler
from arriero_operator.render import children
from arriero_operator.rounds.round import NamesFile, Round
from arriero_operator.watching.news import Expected
from tests.operator.machinery.objects import make
from tests.operator.reconcile.made import NEW, OLD, START, ready
from tests.operator.reconcile.test_curiosity import KEY, NAMES, a_round
from tests.operator.reconcile.test_runtime_status import answers
from tests.support.kubectl import Object

ALIAS = Registration("chat", NameKind.ALIAS)
SETTINGS = Settings((), "cpu", "", 1, {"cpu": Profile("cpu", "i")})


def adapter(revision: str, name: str = "support") -> Registration:
    return Registration(name, NameKind.ADAPTER, "hf://org/support", revision)


def says(content: Registrations) -> RuntimeStatus:
    """A runtime that serves all of it."""
    done = AdapterState.REGISTERED
    told = tuple(AdapterStatus(one.name, one.uri, one.revision, done) for one in content.adapters)
    return RuntimeStatus(Phase.READY, commit="c" * 40, registrations=content.hash, adapters=told)


class World:
    """A model of one ready pod, and what its runtime answers: nothing while `answer` is None."""

    def __init__(self) -> None:
        began = timestamp(START)
        pod: Object = make(PODS, "a", 1, stem="tiny")
        pod["metadata"]["labels"] |= {labels.REVISION: NEW}
        pod["metadata"]["creationTimestamp"] = began
        pod["status"] = {
            "phase": "Running",
            "podIP": "127.0.0.9",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": began}],
            "containerStatuses": [{"name": "runtime", "ready": True, "state": {"running": {"startedAt": began}}}],
        }
        self.cache = Cache()
        self.cache.put(PODS, pod)
        self.answer: RuntimeStatus | None = None
        self.statuses = RuntimeStatuses(self._fetch)
        self.reconciler = Reconciler(None, self.cache, SETTINGS, self.statuses, Expected())  # type: ignore[arg-type]
        self.files = self.reconciler._registrations

    async def _fetch(self, ip: str) -> RuntimeStatus:
        if self.answer is None:
            await asyncio.Event().wait()
        assert self.answer is not None
        return self.answer

    def round(self) -> Round:
        """A look at the model, with the last answers."""
        heard = PodEvents(None)  # type: ignore[arg-type]
        (pod,) = pods_of(self.cache, self.statuses, heard, KEY)
        return a_round(pod, 60)

    async def ask(self) -> None:
        """Ask the pod, but wait no longer than a reconcile does."""
        await self.statuses.refresh(KEY, [(self.round().observed.pods[0], 0.0)])

    def proven(self, now: Round, wanted: NamesFile) -> bool:
        """Whether the pod is known to serve this."""
        return self.files._proofs.proven(KEY, now.observed.pods[0], wanted)

    def change(self, wanted: NamesFile) -> Round:
        """The round in which the file is written."""
        now = self.round()
        now.registrations = {NEW: wanted}
        self.reconciler._asking.doubt(now)
        return now


def file(content: Registrations, before: Registrations | None = None) -> NamesFile:
    """A file that says this, or that is about to be changed."""
    made = timestamp(START)
    return NamesFile(NEW, content, made, made, fresh=before is not None, before=before)


async def test_a_pod_has_to_say_that_it_serves_names_that_come_back() -> None:
    world, first, second = World(), Registrations(NAMES), Registrations((*NAMES, ALIAS))
    world.answer = says(first)
    await world.ask()
    assert world.proven(world.round(), file(first))
    assert not world.proven(world.round(), file(first, second)), "what is not written yet is not served"
    world.answer = None  # it takes the change over, and nobody has asked it since
    assert not world.proven(world.change(file(second, first)), file(second))
    assert not world.proven(world.change(file(first, second)), file(first, second))
    assert not world.proven(world.round(), file(first))
    world.answer = says(first)
    await world.ask()
    assert world.proven(world.round(), file(first))


async def test_an_answer_that_was_asked_for_before_the_change_is_not_waited_for() -> None:
    world, first, second = World(), Registrations(NAMES), Registrations((*NAMES, ALIAS))
    await world.ask()
    world.change(file(second, first))
    world.answer = says(second)
    await world.ask()
    await answers()
    assert world.proven(world.round(), file(second))


def write(world: World, names: tuple[Registration, ...], minute: int = 0) -> NamesFile:
    """What the pod's file is to say of these names; it then does."""
    now = world.round()
    now.plan = Plan(names)
    now.moment += timedelta(minutes=minute)
    found = world.files.file(now, NEW)
    stored = children.registrations(now.observed.owner, NEW, found.content, found.changed)
    version = str(2 + minute)
    stored["metadata"] |= {"uid": "u", "resourceVersion": version, "creationTimestamp": timestamp(START)}
    world.cache.put(CONFIG_MAPS, stored)
    return replace(found, fresh=False)


async def test_a_pod_that_still_says_what_it_served_before_has_not_proven_names_that_came_back() -> None:
    world = World()
    world.answer = says(Registrations(NAMES))
    await world.ask()  # the commit is known from the beginning
    write(world, NAMES)
    first = write(world, (*NAMES, ALIAS), 1)
    world.answer = says(first.content)
    await world.ask()
    assert world.proven(world.round(), first)
    write(world, NAMES, 2)
    again = write(world, (*NAMES, ALIAS), 3)
    assert replace(again.content, sequence=0) == replace(first.content, sequence=0)
    world.answer = says(first.content)  # it has not read its file since, and reads the change in between later on
    await world.ask()
    assert not world.proven(world.round(), again)
    world.answer = says(again.content)
    await world.ask()
    assert world.proven(world.round(), again)


def test_a_file_that_changes_nothing_more_keeps_its_number_and_one_before_any_change_has_none() -> None:
    world = World()
    first = a_round(ready(revision=OLD), 60)
    assert "sequence" not in world.files.file(first, NEW).content.to_json()
    changed = write(world, (*NAMES, ALIAS), 1)
    assert write(world, (*NAMES, ALIAS), 2).content == changed.content


@pytest.mark.parametrize("lost", [True, False])
def test_a_file_that_was_lost_or_spoilt_under_its_pods_comes_back_as_another_content(lost: bool) -> None:
    world = World()
    known = {write(world, names, minute).content.hash for minute, names in enumerate([NAMES, (*NAMES, ALIAS)] * 3)}
    stored = world.cache.get(CONFIG_MAPS, "team", f"tiny-{NEW}")
    assert stored is not None
    if lost:
        world.cache.drop(CONFIG_MAPS, "team", f"tiny-{NEW}", "u")
    else:
        spoilt = {**stored, "metadata": {**stored["metadata"], "resourceVersion": "90"}, "data": {}}
        world.cache.put(CONFIG_MAPS, spoilt)
    now = world.round()
    now.moment += timedelta(minutes=9)
    assert world.files.file(now, NEW).content.hash not in known


def states(world: World, now: Round, content: Registrations) -> dict[str, str]:
    """Of the adapters."""
    found = adapters.states(content.names, now.observed.pods, adapters.NOTHING, {NEW: content})
    return {one.name: one.state for one in found}


async def test_what_a_pod_said_of_an_adapter_lasts_as_long_as_its_entry_does() -> None:
    world = World()
    first = Registrations((*NAMES, adapter("v1"), adapter("v1", "other")))
    second = replace(first, names=(*NAMES, adapter("v2"), adapter("v1", "other")))
    world.answer = says(first)
    await world.ask()
    assert states(world, world.change(file(second, first)), second) == {"support": "Registering", "other": "Registered"}
    await world.ask()  # it has not read the file yet, and does so before the next change
    assert states(world, world.change(file(first, second)), first) == {"support": "Registering", "other": "Registered"}
    assert world.round().observed.pods[0].status == replace(
        says(first), registrations="", adapters=(says(first).adapters[1],)
    )


def test_of_a_file_that_is_to_be_changed_both_contents_are_known() -> None:
    world, stands = World(), Registrations((*NAMES, ALIAS))
    now = world.round()
    stored = children.registrations(now.observed.owner, NEW, stands, "")
    stored["metadata"] |= {"uid": "u", "resourceVersion": "1", "creationTimestamp": timestamp(START)}
    world.cache.put(CONFIG_MAPS, stored)
    found = world.files.file(now, NEW)
    assert (found.content.names, found.before, found.fresh) == (NAMES, stands, True)
    assert found.changed == timestamp(now.moment)
