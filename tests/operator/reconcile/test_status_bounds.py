"""Whatever happens to a model, its status keeps the bounds of the resource: one text too long, and none is written."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from arriero_api.contract import Failure, Phase, Progress, RuntimeStatus
from arriero_api.status import Status
from arriero_operator.decide.situation import NameState
from arriero_operator.decide.status import Described, status
from arriero_operator.diagnose.stage import Stage
from arriero_operator.revisions.records import rejection_of
from tests.operator.reconcile.made import NEW, ready, running, situation

NOW = "2026-01-01T12:00:00Z"
LONG = st.one_of(st.just(""), st.just("x" * 5_000), st.text(max_size=20).map(lambda text: text * 300))
FAULTS = st.one_of(st.none(), st.builds(Failure, st.just("ModelNotFound"), LONG, LONG))
NETWORKS = {f"networking.gke.io.networks/rdma-{number}": "1" for number in range(8)}


def model_status(effective: dict[str, Any]) -> Any:
    """status.model.effective, as a runtime's words become."""
    said = RuntimeStatus(Phase.READY, Progress(None, ""), effective=effective)
    return status(situation(pods=[ready(status=said)]), Described("m", "u", "r"), {}, NOW)["model"].get("effective")


@given(said=st.tuples(*[LONG] * 9), faults=st.tuples(*[FAULTS] * 3), count=st.integers(0, 400), percent=st.integers())
def test_every_status_is_within_the_bounds_of_the_resource(
    said: tuple[str, ...], faults: tuple[Failure | None, ...], count: int, percent: int
) -> None:
    answer = RuntimeStatus(Phase.LOADING, Progress(percent, said[0]), effective={"dtype": said[1], "maxModelLen": 8})
    found = situation(
        pods=[running(status=answer), ready("b", "old")],
        stage=Stage("Loading", max(0, min(100, percent)), said[0]),
        names=[NameState(f"n{number}", "Alias", "Failed", 0, said[2], "AdapterFailed") for number in range(count)],
        refused=faults[0],
        failure=faults[1],
        rolled_back=faults[2],
        mismatch=said[3],
        turnover=("Replacing", said[4][:1024]),
        outdated=said[5],
        stale=said[6],
        missing=said[7],
    )
    told = Described("m", f"http://{said[8]}", said[8], said[8], said[8], {said[8] or "a/b": "1", **NETWORKS})
    Status.model_validate(status(found, told, {}, NOW))


def test_accelerators_stand_before_the_other_devices_of_a_pod() -> None:
    told = Described("m", "u", "r", accelerators={**NETWORKS, "nvidia.com/gpu": "8", "amd.com/gpu": "1"})
    found = status(situation(pods=[ready()]), told, {}, NOW)["accelerators"]
    assert found.startswith("amd.com/gpu: 1, nvidia.com/gpu: 8, networking.gke.io.networks/rdma-0: 1")
    assert len(found) == 128
    assert found.endswith("…")


def test_what_an_engine_says_of_another_kind_is_left_out() -> None:
    assert model_status({"maxModelLen": True, "dtype": 7, "maxNumSeqs": 4}) == {"maxNumSeqs": 4}


def test_a_reason_that_somebody_wrote_into_a_record_by_hand_is_put_into_the_catalogues_words() -> None:
    record = {
        "metadata": {
            "labels": {"arriero.dev/revision": NEW},
            "annotations": {"arriero.dev/failed": '{"retry": "", "failure": {"reason": "no word", "message": "m"}}'},
        }
    }
    found = rejection_of([record], NEW)
    assert found is not None
    assert found.failure.reason == "EngineFailed"
    assert found.failure.message == "no word: m"
