"""Adapters come, change and go while the server runs; a bad one harms nothing else."""

import asyncio
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from arriero_api.contract import (
    AdapterState,
    AdapterStatus,
    Failure,
    NameKind,
    Phase,
    Registration,
    Registrations,
)
from arriero_runtime.adapters.fit import FILES
from arriero_runtime.cli import ServeOptions
from arriero_runtime.engine.protocol import AdapterRefused, LoraCapacity
from arriero_runtime.failing import StartError
from arriero_runtime.server import adapters, leftovers
from arriero_runtime.sources.adapters import obtain
from arriero_runtime.sources.space import LIMIT_VARIABLE
from tests.hub import Fault, Hub
from tests.models.lora import adapter
from tests.runtime.server.harness import LAYERED, Running, layered_model, options_for, running
from tests.runtime.server.scripted import ScriptedEngine
from tests.support.eventually import eventually_async

OWN = Registration("one", NameKind.MODEL)
REPOSITORY = "somebody/support"


def entry(name: str, uri: object, revision: str = "") -> Registration:
    text = str(uri)
    return Registration(name, NameKind.ADAPTER, text if "://" in text else f"file://{text}", revision)


def write(path: Path, *entries: Registration) -> Registrations:
    """The model's own name and these; the file is swapped, as a ConfigMap volume does."""
    registrations = Registrations((OWN, *entries))
    fresh = path.with_suffix(".new")
    fresh.write_text(registrations.to_json())
    fresh.replace(path)
    return registrations


def prepare(folder: Path) -> tuple[ServeOptions, ScriptedEngine]:
    """A model of one layer; an engine that holds three adapters of rank 8."""
    options, engine = options_for(folder, folder=layered_model), ScriptedEngine()
    engine.lora = LoraCapacity(max_rank=8, max_loaded=3)
    return options, engine


def state(server: Running, name: str) -> AdapterStatus | None:
    found = server.statuses[-1].adapters if server.statuses else ()
    return next((one for one in found if one.name == name), None)


def failure(server: Running, name: str) -> Failure:
    found = state(server, name)
    assert found is not None
    assert found.state is AdapterState.FAILED
    assert found.failure is not None
    return found.failure


async def registered(server: Running, wanted: Registration) -> None:
    def found() -> bool:
        now = state(server, wanted.name)
        return now is not None and now.of(wanted) and now.state is AdapterState.REGISTERED

    await eventually_async(found)


async def test_ready_waits_until_every_adapter_is_loaded_or_has_failed(tmp_path: Path) -> None:
    options, engine = prepare(tmp_path)
    good, bad = entry("good", tmp_path / "good"), entry("bad", tmp_path / "absent")
    adapter(tmp_path / "model", tmp_path / "good")
    write(options.registrations, good, bad)
    async with running(options, engine=engine) as server:
        status = await server.reach(Phase.READY)
        assert {one.name: one.state for one in status.adapters} == {
            "good": AdapterState.REGISTERED,
            "bad": AdapterState.FAILED,
        }
        assert failure(server, "bad").reason == "AdapterNotFound"
        assert set(engine.adapters) == {"good"}
        assert [(await server.chat(name)).status_code for name in ("one", "good", "bad")] == [200, 200, 404]


async def test_adapters_come_and_go_while_a_request_is_under_way(tmp_path: Path) -> None:
    options, engine = prepare(tmp_path)
    async with running(options, engine=engine) as server:
        adapter(tmp_path / "model", tmp_path / "a")
        wanted = entry("support", tmp_path / "a")
        content = write(options.registrations, wanted)
        await registered(server, wanted)
        assert server.statuses[-1].registrations == content.hash
        waiting = asyncio.ensure_future(server.chat("support", user="wait"))
        await asyncio.wait_for(engine.started.wait(), 10)
        write(options.registrations)
        await eventually_async(lambda: not engine.adapters)
        assert state(server, "support") is None
        engine.release.set()
        assert (await waiting).status_code == 200
        assert (await server.chat("support")).status_code == 404
        assert {status.phase for status in server.statuses[-3:]} == {Phase.READY}


async def test_the_state_is_told_with_the_hash_of_the_file(tmp_path: Path) -> None:
    """Whoever sees the new hash finds each adapter of it beside it, never one that is not there yet."""
    options, engine = prepare(tmp_path)
    async with running(options, engine=engine) as server:
        adapter(tmp_path / "model", tmp_path / "a")
        wanted = entry("support", tmp_path / "a")
        content = write(options.registrations, wanted)
        await registered(server, wanted)
        told = [status for status in server.statuses if status.registrations == content.hash]
        assert all([one.name for one in status.adapters] == ["support"] for status in told)
        assert told[0].adapters[0].state is AdapterState.REGISTERING


async def test_the_list_tells_where_weights_come_from_and_no_folder_of_the_pod(tmp_path: Path) -> None:
    options, engine = prepare(tmp_path)
    wanted = entry("support", adapter(tmp_path / "model", tmp_path / "support"))
    write(options.registrations, wanted)
    async with running(options, engine=engine) as server:
        listed = {one["id"]: one for one in (await server.client.get("/v1/models")).json()["data"]}
    assert (listed["one"]["root"], listed["one"]["parent"]) == (options.model, None)
    assert (listed["support"]["root"], listed["support"]["parent"]) == (wanted.uri, "one")


async def test_a_changed_revision_is_served_from_a_path_of_its_own(tmp_path: Path, hub: Hub) -> None:
    options, engine = prepare(tmp_path)
    first = hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "first", seed=1))
    wanted = entry("support", f"hf://{REPOSITORY}")
    write(options.registrations, wanted)
    async with running(options, engine=engine) as server:
        assert engine.adapters["support"].name == first
        second = hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "second", seed=2))
        changed = entry("support", f"hf://{REPOSITORY}", second)
        write(options.registrations, changed)
        await registered(server, changed)
        assert engine.adapters["support"].name == second


@pytest.fixture
def lets_go_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripted engine needs no time to let go of a request."""
    monkeypatch.setattr(leftovers, "_ENGINE_SECONDS", 0.0)


@pytest.mark.usefixtures("lets_go_at_once")
async def test_the_files_of_earlier_weights_go_when_the_requests_have_ended_that_began_with_them(
    tmp_path: Path, hub: Hub
) -> None:
    options, engine = prepare(tmp_path)
    first = hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "first", seed=1))
    write(options.registrations, entry("support", f"hf://{REPOSITORY}"), entry("own", tmp_path / "first"))
    async with running(options, engine=engine) as server:
        shelf = engine.adapters["support"].parent
        waiting = asyncio.ensure_future(server.chat("support", user="wait"))
        await asyncio.wait_for(engine.started.wait(), 10)
        second = hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "second", seed=2))
        changed = entry("support", f"hf://{REPOSITORY}", second)
        write(options.registrations, changed)
        await registered(server, changed)
        for _ in range(20):
            await asyncio.sleep(0)
        assert (shelf / first).is_dir()
        engine.release.set()
        assert (await waiting).status_code == 200
        await eventually_async(lambda: not (shelf / first).exists())
        assert (shelf / second / FILES[1]).is_file()
        assert (tmp_path / "first").is_dir(), "only what was fetched may go"


@pytest.mark.usefixtures("lets_go_at_once")
async def test_files_stay_for_as_long_as_one_name_is_served_from_them_and_can_be_fetched_again(
    tmp_path: Path, hub: Hub
) -> None:
    options, engine = prepare(tmp_path)
    hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "a"))
    one, other = entry("one-of", f"hf://{REPOSITORY}"), entry("other", f"hf://{REPOSITORY}")
    write(options.registrations, one, other)
    async with running(options, engine=engine) as server:
        folder = engine.adapters["other"]
        write(options.registrations, other)
        await eventually_async(lambda: "one-of" not in engine.adapters)
        kept = server.serving.names.adapters._leftovers
        assert kept is not None
        await eventually_async(lambda: not kept._going)
        assert folder.is_dir()
        write(options.registrations)
        await eventually_async(lambda: not list(folder.parent.glob("*/*")))
        write(options.registrations, one)
        await registered(server, one)
        assert folder.is_dir()


@pytest.mark.usefixtures("lets_go_at_once")
async def test_the_engine_lets_go_of_earlier_weights_when_the_requests_have_ended_that_began_with_them(
    tmp_path: Path,
) -> None:
    """Else they would push wanted ones out, of which the engine holds so many and no more."""
    options, engine = prepare(tmp_path)
    async with running(options, engine=engine) as server:
        for seed in (1, 2):
            wanted = entry("support", adapter(tmp_path / "model", tmp_path / str(seed), seed=seed))
            write(options.registrations, wanted)
            await registered(server, wanted)
            if seed == 1:
                waiting = asyncio.ensure_future(server.chat("support", user="wait"))
                await asyncio.wait_for(engine.started.wait(), 10)
        for _ in range(20):
            await asyncio.sleep(0)
        assert engine.holds == {1, 2}
        engine.release.set()
        assert (await waiting).status_code == 200
        await eventually_async(lambda: engine.holds == {2})
        write(options.registrations)
        await eventually_async(lambda: not engine.holds)


async def test_what_becomes_of_a_folder_that_an_adapter_was_loaded_from_is_no_matter(tmp_path: Path) -> None:
    options, engine = prepare(tmp_path)
    wanted = entry("support", adapter(tmp_path / "model", tmp_path / "a"))
    write(options.registrations, wanted)
    weights = (tmp_path / "a" / FILES[1]).read_bytes()
    async with running(options, engine=engine) as server:
        shutil.rmtree(tmp_path / "a")
        assert (engine.adapters["support"] / FILES[1]).read_bytes() == weights
        other = entry("other", adapter(tmp_path / "model", tmp_path / "a", seed=2))
        write(options.registrations, wanted, other)
        await registered(server, other)
        assert (engine.adapters["support"] / FILES[1]).read_bytes() == weights
        assert (engine.adapters["other"] / FILES[1]).read_bytes() != weights


@pytest.mark.usefixtures("lets_go_at_once")
async def test_nothing_is_removed_from_a_cache_that_other_pods_use_too(tmp_path: Path, hub: Hub) -> None:
    options, engine = prepare(tmp_path)
    hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "a"))
    write(options.registrations, entry("support", f"hf://{REPOSITORY}"))
    (tmp_path / "state" / "engine").mkdir(parents=True)
    async with running(replace(options, shared_cache=True, state_dir=tmp_path / "state"), engine=engine) as server:
        folder = engine.adapters["support"]
        write(options.registrations)
        await eventually_async(lambda: state(server, "support") is None)
        for _ in range(20):
            await asyncio.sleep(0)
        assert folder.is_dir()


async def test_a_branch_is_one_commit_for_all_pods_once_the_file_names_it(tmp_path: Path, hub: Hub) -> None:
    options, engine = prepare(tmp_path)
    first = hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "first", seed=1))
    wanted = entry("support", f"hf://{REPOSITORY}", "main")
    write(options.registrations, wanted)
    async with running(options, engine=engine) as server:
        await registered(server, wanted)
        told = state(server, "support")
        assert told is not None
        assert told.commit == first
        place = engine.adapters["support"]

        # The pod's own commit is no news to it.
        hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "second", seed=2))
        pinned = replace(wanted, commit=first)
        hash_ = write(options.registrations, pinned).hash
        await eventually_async(lambda: server.statuses[-1].registrations == hash_)
        assert engine.adapters["support"] == place
        await registered(server, pinned)

    # A pod that starts after the branch has moved serves what the others do.
    options.registrations.write_text(Registrations((OWN, pinned)).to_json())
    other = replace(options, cache_dir=tmp_path / "other-cache")
    other.cache_dir.mkdir()
    engine = ScriptedEngine()
    engine.lora = LoraCapacity(max_rank=8, max_loaded=3)
    async with running(other, engine=engine) as server:
        await registered(server, pinned)
        assert engine.adapters["support"].name == first


async def test_a_pod_that_resolved_another_commit_loads_the_one_that_the_file_names(tmp_path: Path, hub: Hub) -> None:
    options, engine = prepare(tmp_path)
    first = hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "first", seed=1))
    second = hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "second", seed=2))
    wanted = entry("support", f"hf://{REPOSITORY}", "main")
    write(options.registrations, wanted)
    async with running(options, engine=engine) as server:
        await registered(server, wanted)
        assert engine.adapters["support"].name == second
        pinned = replace(wanted, commit=first)
        write(options.registrations, pinned)
        await registered(server, pinned)
        assert engine.adapters["support"].name == first


async def test_a_changed_adapter_that_fails_leaves_the_earlier_weights_and_says_so(tmp_path: Path) -> None:
    options, engine = prepare(tmp_path)
    adapter(tmp_path / "model", tmp_path / "a")
    adapter(tmp_path / "model", tmp_path / "b", rank=16)
    write(options.registrations, entry("support", tmp_path / "a"))
    async with running(options, engine=engine) as server:
        write(options.registrations, entry("support", tmp_path / "b"))
        await eventually_async(lambda: failure(server, "support"))
        assert failure(server, "support").reason == "AdapterRankTooHigh"
        assert "the earlier weights are served" in failure(server, "support").message
        assert (engine.adapters["support"] / FILES[1]).read_bytes() == (tmp_path / "a" / FILES[1]).read_bytes()


async def test_what_the_engine_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    options, engine = prepare(tmp_path)
    adapter(tmp_path / "model", tmp_path / "a")
    engine.refuses = {"support": AdapterRefused("AdapterInvalid", "vLLM does not yet support DoRA.")}
    write(options.registrations, entry("support", tmp_path / "a"))
    async with running(options, engine=engine) as server:
        found = failure(server, "support")
        assert (found.reason, found.remedy[:21]) == ("AdapterInvalid", "Save the adapter as a")
        assert "Adapter support (file://" in found.message
        assert "DoRA" in found.message


async def test_one_more_than_the_pod_holds_waits_for_room(tmp_path: Path) -> None:
    options, engine = prepare(tmp_path)
    adapter(tmp_path / "model", tmp_path / "a")
    entries = [entry(f"a{number}", tmp_path / "a") for number in range(4)]
    write(options.registrations, *entries)
    async with running(options, engine=engine) as server:
        assert failure(server, "a3").reason == "AdapterNoCapacity"
        write(options.registrations, *entries[1:])
        await registered(server, entries[3])


async def test_a_pod_without_capacity_says_so(tmp_path: Path) -> None:
    options, engine = prepare(tmp_path)
    engine.lora = None
    write(options.registrations, entry("support", tmp_path))
    async with running(options, engine=engine) as server:
        assert failure(server, "support").reason == "AdapterNoCapacity"
        assert (await server.chat()).status_code == 200


async def test_a_failure_that_may_pass_is_tried_again(
    tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters, "_PAUSES", (0.05,))
    monkeypatch.setattr("arriero_runtime.sources.hub._PAUSES_SECONDS", ())
    options, engine = prepare(tmp_path)
    hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "a"))
    hub.fault(Fault(status=503))
    wanted = entry("support", f"hf://{REPOSITORY}")
    write(options.registrations, wanted)
    async with running(options, engine=engine) as server:
        assert failure(server, "support").reason == "AdapterFetchFailed"
        hub.clear_faults()
        await registered(server, wanted)


async def test_an_adapter_that_is_uploaded_later_is_found(
    tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters, "_PAUSES", (60.0, 0.05))
    options, engine = prepare(tmp_path)
    wanted = entry("support", f"hf://{REPOSITORY}")
    write(options.registrations, wanted)
    async with running(options, engine=engine) as server:
        assert failure(server, "support").reason == "AdapterNotFound"
        hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "a"))
        await registered(server, wanted)


def test_a_repository_without_an_adapter_is_told(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "adapter_model.bin").write_bytes(b"weights")
    hub.add_repo(REPOSITORY, tmp_path / "repo")
    with pytest.raises(StartError) as caught:
        obtain(entry("support", f"hf://{REPOSITORY}"), "hf://a/b", tmp_path)
    assert str(caught.value) == (
        f"AdapterInvalid: The repository {REPOSITORY} at revision main has no adapter_config.json and no "
        "adapter_model.safetensors."
    )


def test_an_adapter_that_has_no_room_in_the_cache_is_told_with_the_field_to_change(
    tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "1048576")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(LAYERED))
    hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "a"))
    with pytest.raises(StartError) as caught:
        obtain(entry("support", f"hf://{REPOSITORY}"), "hf://a/b", tmp_path / "cache")
    found = caught.value.failure
    assert (found.reason, "no room for" in found.message) == ("AdapterFetchFailed", True)
    assert "spec.cache.emptyDir.sizeLimit" in found.remedy


@pytest.mark.parametrize(
    ("made", "revision", "reason"),
    [
        ({}, "nowhere", "AdapterNotFound"),
        ({"gated": True}, "", "AdapterUnauthorized"),
        (None, "", "AdapterNotFound"),
    ],
)
def test_what_the_hub_refuses_has_a_reason_of_adapters(
    tmp_path: Path, hub: Hub, made: dict[str, bool] | None, revision: str, reason: str
) -> None:
    (tmp_path / "repo").mkdir()
    for name in FILES:
        (tmp_path / "repo" / name).write_text("{}")
    if made is not None:
        hub.add_repo(REPOSITORY, tmp_path / "repo", gated=made.get("gated", False))
    with pytest.raises(StartError) as caught:
        obtain(entry("support", f"hf://{REPOSITORY}", revision), "hf://a/b", tmp_path)
    assert caught.value.failure.reason == reason
    assert caught.value.failure.remedy


def test_a_fetched_commit_is_not_asked_for_again(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(LAYERED))
    commit = hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "a"))
    place = obtain(entry("support", f"hf://{REPOSITORY}", commit), "hf://a/b", tmp_path)
    asked = len(hub.requests)
    assert obtain(entry("support", f"hf://{REPOSITORY}", commit), "hf://a/b", tmp_path) == place
    assert len(hub.requests) == asked
    assert place.commit == commit
    assert sorted(path.name for path in place.folder.iterdir()) == ["adapter_config.json", "adapter_model.safetensors"]


def test_a_branch_is_served_as_it_was_while_the_hub_is_away(
    tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container that starts anew has its adapters back although the hub does not answer."""
    monkeypatch.setattr("arriero_runtime.sources.hub._PAUSES_SECONDS", ())
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(LAYERED))
    hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "a"), branch="teams/one")
    wanted = entry("support", f"hf://{REPOSITORY}", "teams/one")
    place = obtain(wanted, "hf://a/b", tmp_path)
    hub.fault(Fault(status=503))
    assert obtain(wanted, "hf://a/b", tmp_path) == place
    with pytest.raises(StartError, match="AdapterFetchFailed"):
        obtain(entry("support", f"hf://{REPOSITORY}"), "hf://a/b", tmp_path)


def test_a_folder_on_the_models_own_claim_is_copied(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LAYERED))
    adapter(tmp_path, tmp_path / "claim" / "adapters" / "a")
    wanted = entry("support", "pvc://models/adapters/a")
    found = obtain(wanted, "pvc://models/base", tmp_path, tmp_path / "claim")
    for name in FILES:
        assert (found.folder / name).read_bytes() == (tmp_path / "claim" / "adapters" / "a" / name).read_bytes()
    assert obtain(wanted, "pvc://models/base", tmp_path, tmp_path / "claim") == found
    assert [path.name for path in found.folder.parent.iterdir()] == [found.folder.name]
    with pytest.raises(StartError, match="AdapterNotFound: it is on the claim models, and the model is not"):
        obtain(wanted, "pvc://others/base", tmp_path, tmp_path / "claim")
    shutil.rmtree(tmp_path / "claim" / "adapters" / "a")
    with pytest.raises(StartError, match="AdapterNotFound: there is no folder pvc://models/adapters/a"):
        obtain(wanted, "pvc://models/base", tmp_path, tmp_path / "claim")


def test_a_folder_that_has_no_room_in_the_cache_or_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = entry("support", adapter(layered_model(tmp_path), tmp_path / "a"))
    (tmp_path / "a" / FILES[1]).rename(tmp_path / "moved")
    (tmp_path / "a" / FILES[1]).symlink_to(tmp_path / "absent")
    with pytest.raises(StartError, match="AdapterNotFound: its folder cannot be read: No such file"):
        obtain(wanted, "hf://a/b", tmp_path / "cache")
    (tmp_path / "moved").replace(tmp_path / "a" / FILES[1])
    monkeypatch.setenv(LIMIT_VARIABLE, "1048576")
    with pytest.raises(StartError, match="AdapterFetchFailed: The cache volume has no room for the adapter in"):
        obtain(wanted, "hf://a/b", tmp_path / "cache")
    assert not list((tmp_path / "cache" / "adapters" / "copies").iterdir())
