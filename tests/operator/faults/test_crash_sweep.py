"""An operator that dies between any two writes, or loses any answer, ends where an undisturbed one does."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import ControlPlane
from tests.operator.faults.scenarios import SCENARIOS, Scenario
from tests.operator.faults.sweep import Ended, Sweep, sweeping
from tests.support.proxy import Proxy, faulty

pytestmark = pytest.mark.control_plane

AT_ONCE = 12
_SPARE = 2
"""Runs beyond the undisturbed one's last write: another run may need a write more."""
_BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
_SAMPLE = (
    ("create", "kill", 1),
    ("create", "kill", 4),
    ("rollout", "lost", 4),
    ("rollback", "kill", 6),
    ("adapters", "lost", 3),
    ("up", "kill", 1),
    ("down", "kill", 2),
    ("zero", "kill", 1),
    ("delete", "lost", 1),
)


@pytest.fixture
def proxy(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Proxy]:
    """A way to the API server with the admin's rights."""
    with faulty(control_plane.kubeconfig, tmp_path, admin=True) as found:
        yield found


async def disturbed(sweep: Sweep, scenario: Scenario, way: str, write: int, wanted: Ended) -> tuple[str, bool]:
    """Run it, and compare; the run's name, and whether its fault took place."""
    run = f"{scenario.name}, {'killed after' if way == 'kill' else 'no answer to'} write {write}"
    try:
        ended = await (sweep.killed if way == "kill" else sweep.unanswered)(scenario, write, wanted)
        assert ended.accessories["ReplicaSet"] == wanted.accessories["ReplicaSet"]
        told = ended.accessories["Event"]
        assert len(set(told)) == len(told), f"an Event twice: {told}"
        # Those that were due right after the fatal write are lost: Events are told once at most.
        assert _reasons(told) <= _reasons(wanted.accessories["Event"]), f"an Event of nothing that happened: {told}"
    except AssertionError as error:
        raise AssertionError(f"{run}: {error}") from error
    return run, ended.reached


def _reasons(told: list[str]) -> set[tuple[str, str]]:
    """Types and reasons: what a message counts, a new process may not know."""
    return {tuple(json.loads(one)[:2]) for one in told}


async def test_a_sample_of_deaths_and_lost_answers_changes_nothing(
    proxy: Proxy, control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with sweeping(proxy, control_plane.kubeconfig, tmp_path, AT_ONCE) as sweep:
        names = sorted({name for name, _, _ in _SAMPLE})
        calm = dict(zip(names, await asyncio.gather(*(sweep.undisturbed(_BY_NAME[one]) for one in names)), strict=True))
        runs = (disturbed(sweep, _BY_NAME[name], way, write, calm[name]) for name, way, write in _SAMPLE)
        assert all(reached for _, reached in await asyncio.gather(*runs))


@pytest.mark.full
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_no_death_and_no_lost_answer_changes_the_end(
    proxy: Proxy, control_plane: ControlPlane, tmp_path: Path, scenario: Scenario
) -> None:
    async with sweeping(proxy, control_plane.kubeconfig, tmp_path, AT_ONCE) as sweep:
        calm = await sweep.undisturbed(scenario)
        assert calm.writes, "nothing was written: nothing is swept"
        writes = range(1, calm.writes + _SPARE + 1)
        runs = [disturbed(sweep, scenario, way, write, calm) for way in ("kill", "lost") for write in writes]
        found = await asyncio.gather(*runs, return_exceptions=True)
    wrong = [str(one) for one in found if isinstance(one, BaseException)]
    assert not wrong, f"{len(wrong)} of {len(found)} runs ended elsewhere:\n" + "\n".join(wrong)
    took_place = sum(one[1] for one in found if not isinstance(one, BaseException))
    # Two changes of a status that come together are one write: a run may do with fewer than the undisturbed one.
    assert took_place >= calm.writes
    print(f"{scenario.name}: {calm.writes} writes undisturbed, {len(found)} runs, {took_place} disturbed, all alike")
