"""Register and unregister over the API, where nobody else says what is served."""

import asyncio
import gc
import json
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arriero_api.contract import Failure, Phase
from arriero_runtime.engine.protocol import FirstAnswer
from arriero_runtime.failing import start_error
from arriero_runtime.server.log import WithoutSecrets
from arriero_runtime.sources import access, space
from tests.hub import Hub
from tests.models.edited import Tensor, write
from tests.runtime.alone.harness import alone, folder, message_of
from tests.runtime.server.harness import error_of
from tests.runtime.server.scripted import ScriptedEngine
from tests.support.eventually import eventually_async


async def test_it_starts_empty_and_says_so_on_every_route(tmp_path: Path) -> None:
    async with alone(tmp_path) as one:
        assert one.phase is Phase.EMPTY
        assert await one.names() == []
        assert await one.chats("one") == 404
        native = await one.client.post("/v1/inference/completion", json={"model_id": "one", "content": "x"})
        assert (native.status_code, "POST /v1/models" in native.json()["detail"]) == (400, True)
        assert (await one.client.get("/v1/health")).status_code == 503


async def test_a_page_of_another_origin_cannot_register_or_ask_without_being_asked_about_first(tmp_path: Path) -> None:
    async with alone(tmp_path) as one:
        body = json.dumps({"model_id": "mine", "provider_model_id": str(one.a)})
        page = {"origin": "https://example.org", "content-type": "text/plain"}
        answer = await one.client.post("/v1/models", content=body, headers=page)
        assert (answer.status_code, "Content-Type: application/json" in answer.text) == (415, True)
        assert await one.names() == []
        assert (await one.client.post("/v1/models", content=body)).status_code == 200
        asked = json.dumps({"model_id": "mine", "content": "x"})
        path = "/v1/inference/completion"
        assert (await one.client.post(path, content=asked, headers=page)).status_code == 415
        plain = await one.client.post(path, content=asked)
        # What a browser sends only after it has asked, by OPTIONS, which is 405.
        allowed = await one.client.post(path, content=asked, headers={**page, "content-type": "application/json"})
        assert 415 not in (plain.status_code, allowed.status_code)


async def test_a_registered_model_is_served_and_described(tmp_path: Path) -> None:
    async with alone(tmp_path) as one:
        answer = await one.register("mine", metadata={"owner": "me"})
        assert answer.status_code == 200
        model = answer.json()
        assert (model["identifier"], model["type"], model["model_type"]) == ("mine", "model", "llm")
        assert (model["root"], model["parent"]) == (f"file://{one.a}", None)
        assert (model["metadata"]["owner"], model["metadata"]["context_length"]) == ("me", 1024)
        assert (await one.client.get("/v1/models/mine")).json() == model
        assert await one.chats("mine") == 200
        assert await one.chats("other") == 404


async def test_a_repeated_registration_loads_nothing_again(tmp_path: Path) -> None:
    async with alone(tmp_path) as one:
        assert [(await one.register("mine")).status_code for _ in range(2)] == [200, 200]
        assert one.server.loader.loads == 1


async def test_calls_that_come_while_a_model_loads_share_the_load(tmp_path: Path) -> None:
    async with alone(tmp_path, loads=False) as one:
        calls = [asyncio.ensure_future(one.register(name)) for name in ("mine", "mine", "alias")]
        await one.server.reach(Phase.LOADING)
        await eventually_async(lambda: len(one.server.statuses[-1].names) == 2)
        one.server.loader.go.set()
        assert [(await call).status_code for call in calls] == [200, 200, 200]
        assert one.server.loader.loads == 1
        assert sorted(await one.names()) == ["alias", "mine"]


async def test_a_model_has_so_many_names_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arriero_runtime.server.registry._NAMES", 2)
    async with alone(tmp_path) as one:
        assert [(await one.register(name)).status_code for name in ("a", "b", "c", "b")] == [200, 200, 409, 200]
        assert sorted(await one.names()) == ["a", "b"]
        await one.unregister("a")
        assert (await one.register("c")).status_code == 200


async def test_a_refused_registration_has_the_type_that_openai_clients_know_for_its_status(tmp_path: Path) -> None:
    async with alone(tmp_path) as one:
        assert error_of(await one.unregister("mine"))["type"] == "invalid_request_error"
        assert error_of(await one.server.chat("mine"))["type"] == "invalid_request_error"


@pytest.mark.parametrize("loaded", [True, False])
async def test_another_model_is_refused_in_words_while_one_is_there_or_on_its_way(tmp_path: Path, loaded: bool) -> None:
    async with alone(tmp_path, loads=loaded) as one:
        first = asyncio.ensure_future(one.register("mine"))
        await one.server.reach(Phase.READY if loaded else Phase.LOADING)
        refused = await one.register("other", one.b)
        assert refused.status_code == 409
        assert f"'{one.a}' is {'loaded' if loaded else 'being loaded'}" in message_of(refused)
        assert one.server.loader.loads == 1
        one.server.loader.go.set()
        assert (await first).status_code == 200
        assert await one.names() == ["mine"]


async def test_a_client_that_leaves_does_not_end_the_load_for_others(tmp_path: Path) -> None:
    async with alone(tmp_path, loads=False) as one:
        leaving = asyncio.ensure_future(one.register("mine"))
        await one.server.reach(Phase.LOADING)
        leaving.cancel()
        staying = asyncio.ensure_future(one.register("mine"))
        one.server.loader.go.set()
        assert (await staying).status_code == 200
        assert one.server.loader.loads == 1
        assert await one.chats("mine") == 200


async def test_while_it_loads_its_name_says_how_far_it_is(tmp_path: Path) -> None:
    async with alone(tmp_path, loads=False) as one:
        registering = asyncio.ensure_future(one.register("mine"))
        await one.server.reach(Phase.LOADING)
        asked = await one.client.get("/v1/models/mine")
        assert (asked.status_code, error_of(asked)["phase"]) == (503, "Loading")
        assert int(asked.headers["retry-after"]) > 0
        assert (await one.client.get("/v1/models/other")).status_code == 404
        assert await one.chats("mine") == 503
        one.server.loader.go.set()
        await registering


async def test_the_last_name_takes_the_model_with_it_and_another_can_come(tmp_path: Path) -> None:
    async with alone(tmp_path) as one:
        await one.register("mine")
        await one.register("alias")
        assert (await one.unregister("mine")).status_code == 200
        assert one.server.engine.stops == 0
        assert (await one.chats("alias"), await one.chats("mine")) == (200, 404)
        gone = await one.unregister("alias")
        assert (gone.status_code, gone.json()) == (200, None)
        assert one.server.engine.stops == 1
        assert one.phase is Phase.EMPTY
        assert one.server.serving.dispatcher.app is None
        assert (await one.register("new", one.b)).status_code == 200
        assert one.server.loader.loaded == one.b
        assert (await one.chats("new"), await one.chats("alias")) == (200, 404)


async def test_unregistering_lets_requests_end_and_refuses_new_ones(tmp_path: Path) -> None:
    async with alone(tmp_path) as one:
        await one.register("one")
        async with one.server.open_stream() as lines:
            leaving = [asyncio.ensure_future(one.unregister("one")) for _ in range(2)]
            await one.server.reach(Phase.DRAINING)
            again = asyncio.ensure_future(one.register("two", one.b))
            await eventually_async(lambda: one.server.serving.dispatcher.refusing)
            assert await one.chats("one") == 503
            one.server.engine.release.set()
            assert [line async for line in lines if line] == ["data: two", "data: [DONE]"]
        assert [(await call).status_code for call in leaving] == [200, 200]
        assert (await again).status_code == 200
        assert await one.names() == ["two"]


@pytest.fixture
def frozen() -> Iterator[Callable[[], None]]:
    """What vLLM calls when it begins to serve; without effect after the test."""
    yield gc.freeze
    gc.unfreeze()


async def test_nothing_of_an_engine_is_kept_once_its_model_is_unregistered(
    tmp_path: Path, frozen: Callable[[], None]
) -> None:
    async with alone(tmp_path) as one:
        await one.register("mine")
        assert await one.chats("mine") == 200
        vars(one.server.engine)["itself"] = one.server.engine
        frozen()
        seen = weakref.ref(one.server.engine)
        assert (await one.unregister("mine")).status_code == 200
        one.server.engine = one.server.loader.engine = ScriptedEngine()  # those are the test's own

        def gone() -> bool:
            gc.collect()
            return seen() is None

        await eventually_async(gone, timeout=3)
        assert (await one.register("mine")).status_code == 200


async def test_unregistering_is_no_error_twice_and_is_one_for_a_name_that_never_was(tmp_path: Path) -> None:
    async with alone(tmp_path) as one:
        await one.register("mine")
        assert [(await one.unregister("mine")).status_code for _ in range(2)] == [200, 200]
        refused = await one.unregister("typo")
        assert (refused.status_code, "'typo' is not registered" in message_of(refused)) == (400, True)


@pytest.mark.parametrize(("reason", "status"), [("WeightsInvalid", 400), ("SourceUnreachable", 503)])
async def test_a_failed_load_says_why_and_leaves_nothing_behind(tmp_path: Path, reason: str, status: int) -> None:
    async with alone(tmp_path, loads=False) as one:
        one.server.loader.fail = start_error(reason, "because of this", Phase.LOADING)
        calls = [asyncio.ensure_future(one.register(name)) for name in ("mine", "alias")]
        await one.server.reach(Phase.LOADING)
        one.server.loader.go.set()
        for call in calls:
            refused = await call
            assert (refused.status_code, error_of(refused)["type"]) == (status, reason)
            assert "because of this" in message_of(refused)
        assert (one.phase, await one.names()) == (Phase.EMPTY, [])
        told = one.server.statuses[-1]
        assert (told.names, told.failure and told.failure.reason) == ((), reason)
        one.server.loader.fail = None
        assert (await one.register("mine", one.b)).status_code == 200
        assert one.server.statuses[-1].failure is None


async def test_an_engine_that_answers_garbage_is_given_away_again(tmp_path: Path) -> None:
    async with alone(tmp_path) as one:
        sound = one.server.engine.answer
        one.server.engine.answer = type(sound)((float("nan"),), blind=-10.0)
        refused = await one.register("mine")
        assert (refused.status_code, error_of(refused)["type"]) == (400, "NoUsableAnswer")
        assert one.server.engine.stopped
        one.server.engine.answer = sound
        assert (await one.register("mine")).status_code == 200


async def test_an_engine_that_its_first_question_ends_is_told_with_where_its_cause_stands(tmp_path: Path) -> None:
    class Dies(ScriptedEngine):
        async def first_answer(self) -> FirstAnswer:
            self.errored = True
            raise RuntimeError("see above")

    async with alone(tmp_path, engine=Dies()) as one:
        refused = await one.register("mine")
        assert (refused.status_code, error_of(refused)["type"]) == (503, "EngineDied")
        assert "The server's log says why" in message_of(refused)
        assert "pod" not in message_of(refused)
        assert one.phase is Phase.EMPTY


async def test_an_engine_that_dies_while_it_serves_is_told_with_its_last_words(tmp_path: Path) -> None:
    async with alone(tmp_path) as one:
        await one.register("mine")
        one.server.log.failure = Failure("ModelUnsupported", "The last words.", "another model", Phase.FAILED)
        one.server.engine.errored = True
        await eventually_async(lambda: one.phase is Phase.EMPTY)
        told = one.server.statuses[-1].failure
        assert told is not None
        assert (told.reason, told.message) == ("EngineDied", "The engine's process has ended: The last words.")


async def test_unregistering_a_model_that_loads_ends_the_load(tmp_path: Path) -> None:
    async with alone(tmp_path, loads=False) as one:
        registering = asyncio.ensure_future(one.register("mine"))
        await one.server.reach(Phase.LOADING)
        assert (await one.unregister("mine")).status_code == 200
        refused = await registering
        assert (refused.status_code, "unregistered while" in message_of(refused)) == (409, True)
        assert one.server.loader.given_up.is_set()
        assert one.phase is Phase.EMPTY
        one.server.loader.given_up.clear()
        one.server.loader.go.set()
        assert (await one.register("other", one.b)).status_code == 200


async def test_a_dead_engine_is_cleared_away_and_the_next_registration_starts_another(tmp_path: Path) -> None:
    class Watched(ScriptedEngine):
        async def stop(self, seconds: float) -> None:
            phases.append(one.phase)
            await super().stop(seconds)

    phases: list[Phase] = []
    async with alone(tmp_path, engine=Watched()) as one:
        await one.register("mine")
        one.server.engine.errored = True
        await eventually_async(lambda: one.phase is Phase.EMPTY)
        assert phases == [Phase.DRAINING], "not ready while the rest of it is ended"
        told = one.server.statuses[-1]
        assert told.failure is not None
        assert told.failure.reason == "EngineDied"
        assert "log says why" in told.failure.remedy
        assert await one.names() == []
        one.server.engine.errored = False
        assert (await one.register("mine")).status_code == 200
        assert one.server.loader.loads == 2


async def test_a_stop_drains_what_is_registered(tmp_path: Path) -> None:
    async with alone(tmp_path) as one:
        await one.register("one")
        async with one.server.open_stream() as lines:
            one.server.serving.stop()
            await eventually_async(lambda: one.server.serving.dispatcher.refusing)
            one.server.engine.release.set()
            assert [line async for line in lines if line] == ["data: two", "data: [DONE]"]
        assert await one.server.exit_code() == 0
        assert one.server.engine.stopped


@pytest.mark.parametrize("loading", [True, False])
async def test_a_stop_with_nothing_to_drain_ends_at_once(tmp_path: Path, loading: bool) -> None:
    async with alone(tmp_path, loads=False) as one:
        if loading:
            registering = asyncio.ensure_future(one.register("mine"))
            await one.server.reach(Phase.LOADING)
        one.server.serving.stop()
        assert await one.server.exit_code() == 0
        if loading:
            await asyncio.wait({registering})


@pytest.mark.parametrize("shared", [False, True])
async def test_a_model_that_was_unregistered_goes_from_a_cache_of_the_servers_own_when_another_needs_its_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    monkeypatch.setenv(space.LIMIT_VARIABLE, str((64 + 6) * 2**20))
    cache, state = tmp_path / "cache", tmp_path / "state"
    (state / "engine").mkdir(parents=True)
    options = [f"--cache-dir={cache}", f"--state-dir={state}", *(["--shared-cache"] if shared else [])]
    with Hub.start() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        for name in ("one", "two"):
            made = folder(tmp_path, name)
            write(made / "model.safetensors", {"some": Tensor("BF16", (1024, 2048), bytes(4 * 2**20))})
            hub.add_repo(f"team/{name}", made)
        async with alone(tmp_path, *options) as one:
            assert (await one.register("mine", "team/one")).status_code == 200
            assert (await one.unregister("mine")).status_code == 200
            [first] = cache.glob("models/team--one/*/")
            answer = await one.register("other", "team/two")
            assert (answer.status_code, first.is_dir()) == ((503, True) if shared else (200, False))


async def test_an_exception_with_a_secret_in_it_is_told_and_logged_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "open-sesame")
    credentials = tmp_path / "credentials" / "hub"
    credentials.mkdir(parents=True)
    (credentials / "token").write_text("from-a-secret")
    access.read("hf", "hub", tmp_path / "credentials")
    async with alone(tmp_path) as one:
        one.server.loader.broken = RuntimeError("cannot ask as open-sesame or from-a-secret")
        answer = await one.register("mine")
    written = "\n".join(WithoutSecrets("%(message)s").format(record) for record in caplog.records)
    told = [str(message) for message in one.server.told]
    assert message_of(answer).count("[hidden]") == written.count("[hidden]") // 2 == 2
    assert "RuntimeError: cannot ask as" in written, "with its traceback"
    assert not any(secret in "".join([answer.text, written, *told]) for secret in ("open-sesame", "from-a-secret"))


async def test_a_body_that_never_ends_is_refused_and_one_whose_client_goes_registers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arriero_runtime.native.registering._BODY_SECONDS", 0.1)
    whole = json.dumps({"model_id": "mine", "provider_model_id": str(tmp_path)}).encode()
    async with alone(tmp_path) as one:
        port = one.server.options.port
        for body, answer in ((whole[:10], b"HTTP/1.1 400"), (whole, b"")):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /v1/models HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (len(whole) + 1) + body)
            if answer:
                assert (await asyncio.wait_for(reader.read(1000), 10)).startswith(answer)
            writer.close()
        assert await one.names() == []
        assert one.server.loader.loads == 0
