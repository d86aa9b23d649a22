"""What the server counts of its own, and that clients cannot make series."""

import asyncio
from pathlib import Path

from arriero_api.contract import Phase
from arriero_runtime.failing import start_error
from arriero_runtime.server.counts import CATALOGUE, Counts
from arriero_runtime.sources.meter import FETCHED, Meter
from arriero_runtime.supervisor import metrics as supervisor
from tests.runtime.alone.harness import alone
from tests.runtime.server.harness import Running, options_for, running
from tests.support.eventually import eventually_async

DOC = Path(__file__).parents[3] / "docs" / "metrics.md"


def series(counts: Counts) -> dict[str, float]:
    lines = (line for line in counts.text().splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def engine_starts(server: Running) -> float:
    return series(server.serving.dispatcher.counts)["arriero_runtime_engine_starts_total"]


async def test_requests_are_counted_by_route_method_and_status(tmp_path: Path) -> None:
    async with running(options_for(tmp_path)) as server:
        await server.chat()
        await server.chat("other")
        await server.client.get("/v1/models/some")
        await server.client.get("/nope")
        found = series(server.serving.dispatcher.counts)
    name = "arriero_runtime_requests_total"
    assert found[f'{name}{{method="POST",route="/v1/chat/completions",status="200"}}'] == 1
    assert found[f'{name}{{method="POST",route="/v1/chat/completions",status="404"}}'] == 1
    assert found[f'{name}{{method="GET",route="/v1/models/{{name}}",status="404"}}'] == 1
    assert found[f'{name}{{method="GET",route="other",status="404"}}'] == 1


async def test_how_requests_of_the_engine_ended_is_counted(tmp_path: Path) -> None:
    async with running(options_for(tmp_path, ["--request-timeout-seconds", "1"])) as server:
        counts = server.serving.dispatcher.counts
        await server.chat()
        await server.chat(user="wait")
        async with server.open_stream():
            pass

        def ends() -> list[float]:
            return [series(counts)[f'arriero_runtime_work_total{{outcome="{one}"}}'] for one in OUTCOMES]

        await eventually_async(lambda: ends() == [1, 1, 1])


OUTCOMES = ("completed", "client_left", "ended")


async def test_hundreds_of_paths_methods_and_models_make_no_series(tmp_path: Path) -> None:
    async with running(options_for(tmp_path)) as server:
        for number in range(400):
            path = ("/nope/{}", "/v1/models/{}", "/v1/models/{}/x/y", "/v1/providers/{}", "/{}")[number % 5]
            method = ("GET", "PUT", "LOCK", "DELETE")[number % 4]
            await server.client.request(method, path.format(number))
        await asyncio.gather(*(server.chat(f"model-{number}") for number in range(50)))
        assert len(series(server.serving.dispatcher.counts)) < 60


def test_the_time_in_each_phase_adds_up() -> None:
    now = 10.0
    counts = Counts(lambda: now)
    for phase, seconds in ((Phase.LOADING, 2.0), (Phase.READY, 5.0), (Phase.READY, 1.0)):
        counts.enter(phase)
        now += seconds
    found = series(counts)
    assert found['arriero_runtime_phase_seconds_total{phase="Loading"}'] == 2
    assert found['arriero_runtime_phase_seconds_total{phase="Ready"}'] == 6


async def test_each_engine_that_is_loaded_is_counted(tmp_path: Path) -> None:
    async with alone(tmp_path) as lonely:
        for number in (1, 2):
            assert (await lonely.register("chat")).status_code == 200
            assert engine_starts(lonely.server) == number
            assert (await lonely.unregister("chat")).status_code == 200


async def test_an_engine_counts_from_its_own_beginning_and_not_while_its_arguments_are_checked(tmp_path: Path) -> None:
    async with running(options_for(tmp_path), ready=False) as server:
        server.loader.checked.clear()
        await server.reach(Phase.LOADING)
        assert engine_starts(server) == 0
        server.loader.checked.set()
        await eventually_async(lambda: server.loader.loads == 1)
        assert engine_starts(server) == 1


async def test_an_engine_whose_arguments_are_refused_was_never_begun(tmp_path: Path) -> None:
    async with running(options_for(tmp_path), ready=False) as server:
        server.loader.checked.clear()
        await server.reach(Phase.LOADING)
        server.loader.refuse = start_error("InvalidArguments", "--frobnicate is unknown", Phase.LOADING)
        server.loader.checked.set()
        await server.exit_code()
        assert engine_starts(server) == 0


async def test_the_time_of_a_drain_is_counted(tmp_path: Path) -> None:
    async with running(options_for(tmp_path)) as server:
        counts = server.serving.dispatcher.counts
        async with server.open_stream():
            server.serving.stop()
            name = 'arriero_runtime_phase_seconds_total{phase="Draining"}'
            await eventually_async(lambda: series(counts).get(name, 0) > 0)
            server.engine.release.set()


def test_fetched_bytes_are_counted_once() -> None:
    before = FETCHED.bytes
    meter = Meter(100, lambda percent, words: None)
    meter.look(10, ours=False)
    for done in (40, 40, 30):
        meter.look(done)
    meter.look(60, "another pod fetches it: ", ours=False)
    meter.look(100)
    assert series(Counts())["arriero_runtime_fetched_bytes_total"] == before + 30 + 40


def test_the_documentation_names_each_series_with_its_labels() -> None:
    text = DOC.read_text()
    for name, words, labels in CATALOGUE:
        assert f"| `{name}_total` | {', '.join(labels)} | {words} |" in text


def test_the_documentation_names_each_series_of_the_supervisor_with_its_labels() -> None:
    text = DOC.read_text()
    for one in supervisor.CATALOGUE:
        assert f"| `{one.name}` | {', '.join(one.labels)} | {one.help} |" in text
