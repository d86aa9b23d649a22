"""The adapter when the API server is troubled; that is a fake here, because a real one cannot be told to fail."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from arriero_operator.cache.store import Cache
from arriero_operator.kube import collection, retrying
from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.credentials import Credentials, CredentialsError
from arriero_operator.kube.errors import KubeError, Throttled, Unavailable
from arriero_operator.kube.protocol import CONFIG_MAPS, Object
from arriero_operator.kube.retrying import Failure, wait_before_retry
from tests.operator.machinery.objects import make

OBJECT: Object = {"metadata": {"namespace": "n", "name": "a"}}


@dataclass
class FakeApi:
    """Answers with the planned status codes, one a request, then with 200, each after `slow` seconds; remembers the
    tokens."""

    codes: list[int] = field(default_factory=list)
    retry_after: str = ""
    slow: float = 0.0
    tokens: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.tokens.append(request.headers.get("Authorization", ""))
        await asyncio.sleep(self.slow)
        code = self.codes.pop(0) if self.codes else 200
        headers = {"Retry-After": self.retry_after} if self.retry_after and code >= 400 else {}
        body = OBJECT if code == 200 else {"kind": "Status", "message": f"planned {code}"}
        return web.json_response(body, status=code, headers=headers)


Start = Callable[[FakeApi], Awaitable[ApiServer]]


def _write(path: Path, server: str, token: str) -> None:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    path.write_text(yaml.safe_dump(config))


@pytest.fixture
async def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Start]:
    monkeypatch.setattr(retrying, "FIRST_WAIT", 0.001)
    open_now: list[tuple[ApiServer, web.AppRunner]] = []

    async def connect(fake: FakeApi) -> ApiServer:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", fake.answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        config = tmp_path / "config"
        _write(config, f"http://127.0.0.1:{runner.addresses[0][1]}", "first")
        api = await ApiServer.connect(Credentials(config))
        open_now.append((api, runner))
        return api

    yield connect
    for api, runner in open_now:
        await api.close()
        await runner.cleanup()


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
async def test_a_passing_trouble_is_not_seen_by_the_caller(start: Start, code: int) -> None:
    fake = FakeApi([code, code])
    assert await (await start(fake)).get(CONFIG_MAPS, "n", "a") == OBJECT
    assert len(fake.tokens) == 3


async def test_a_lasting_trouble_ends_after_a_bounded_number_of_attempts(start: Start) -> None:
    fake = FakeApi([503] * 100)
    with pytest.raises(Unavailable, match="planned 503"):
        await (await start(fake)).apply(CONFIG_MAPS, OBJECT, manager="arriero")
    assert len(fake.tokens) == retrying.ATTEMPTS


async def test_a_create_is_not_repeated_when_it_may_have_been_done(start: Start) -> None:
    fake = FakeApi([500])
    with pytest.raises(Unavailable):
        await (await start(fake)).create(CONFIG_MAPS, OBJECT)
    assert len(fake.tokens) == 1


async def test_a_create_that_was_turned_away_is_repeated(start: Start) -> None:
    fake = FakeApi([429])
    assert await (await start(fake)).create(CONFIG_MAPS, OBJECT) == OBJECT


async def test_a_server_that_asks_for_more_patience_than_a_request_has_is_throttled(start: Start) -> None:
    fake = FakeApi([429], retry_after="60")
    with pytest.raises(Throttled):
        await (await start(fake)).get(CONFIG_MAPS, "n", "a")
    assert len(fake.tokens) == 1


async def test_a_token_that_was_rotated_early_is_read_anew_once(start: Start, tmp_path: Path) -> None:
    fake = FakeApi([401])
    api = await start(fake)
    config = yaml.safe_load((tmp_path / "config").read_text())
    _write(tmp_path / "config", config["clusters"][0]["cluster"]["server"], "second")
    assert await api.get(CONFIG_MAPS, "n", "a") == OBJECT
    assert fake.tokens == ["Bearer first", "Bearer second"]


async def test_a_token_that_stays_invalid_is_an_error(start: Start) -> None:
    fake = FakeApi([401, 401])
    with pytest.raises(Unavailable, match="planned 401"):
        await (await start(fake)).get(CONFIG_MAPS, "n", "a")


async def test_a_server_that_is_not_there_is_unavailable(start: Start, tmp_path: Path) -> None:
    config = tmp_path / "nobody"
    _write(config, "http://127.0.0.1:1", "x")
    api = await ApiServer.connect(Credentials(config))
    try:
        with pytest.raises(Unavailable, match="no connection"):
            await api.get(CONFIG_MAPS, "n", "a")
    finally:
        await api.close()


async def test_a_list_of_which_a_page_has_expired_is_had_in_one_piece_and_no_object_twice(start: Start) -> None:
    queries: list[dict[str, str]] = []
    answers = [(200, ["a", "b"], "two"), (410, [], ""), (200, ["b", "c", "d"], "")]

    class Paged(FakeApi):
        async def answer(self, request: web.Request) -> web.Response:
            queries.append(dict(request.query))
            code, names, more = answers.pop(0)
            items = [{"metadata": {"name": name}} for name in names]
            return web.json_response({"metadata": {"continue": more}, "items": items}, status=code)

    found = await (await start(Paged())).list(CONFIG_MAPS, "n", "team=nlp")
    assert [one["metadata"]["name"] for one in found] == ["b", "c", "d"]
    limit = {"labelSelector": "team=nlp", "limit": str(collection.PAGE)}
    assert queries == [limit, limit | {"continue": "two"}, {"labelSelector": "team=nlp"}]


@pytest.mark.parametrize("vanished", ["a", "b"])
async def test_after_an_expired_page_all_is_handed_on_anew_and_the_cache_has_each_object_once(
    start: Start, vanished: str
) -> None:
    pages = iter([["a", "b"], None, [one for one in "abcd" if one != vanished]])

    class Paged(FakeApi):
        async def answer(self, request: web.Request) -> web.Response:
            if (names := next(pages)) is None:
                return web.json_response({}, status=410)
            items = [make(CONFIG_MAPS, name, 1) for name in names]
            more = "" if "d" in names else "two"
            return web.json_response({"metadata": {"continue": more}, "items": items})

    cache, told = Cache(), list[str]()
    async for obj in (await start(Paged())).each(CONFIG_MAPS, "team"):
        told.append(obj["metadata"]["name"])
        cache.put(CONFIG_MAPS, obj)
        if told == ["a", "b"]:  # the watch, which has begun before the list, tells of the end
            cache.drop(CONFIG_MAPS, "team", vanished, f"ConfigMap-{vanished}", "9")
    assert told == ["a", "b", *(one for one in "abcd" if one != vanished)]
    assert sorted(one["metadata"]["name"] for one in cache.all(CONFIG_MAPS)) == sorted(set("abcd") - {vanished})


async def test_objects_are_handed_on_before_the_next_page_is_asked_for(start: Start) -> None:
    asked: list[str] = []

    class Paged(FakeApi):
        async def answer(self, request: web.Request) -> web.Response:
            asked.append(request.query.get("continue", ""))
            more = "" if asked[-1] else "two"
            items = [{"metadata": {"name": f"{name}{len(asked)}"}} for name in "ab"]
            return web.json_response({"metadata": {"continue": more}, "items": items})

    seen = []
    async for one in (await start(Paged())).each(CONFIG_MAPS, "n"):
        seen.append((one["kind"], one["metadata"]["name"], len(asked)))
    assert seen == [("ConfigMap", name, int(name[1])) for name in ("a1", "b1", "a2", "b2")]


async def test_a_list_that_expires_in_one_piece_too_is_an_error(start: Start) -> None:
    fake = FakeApi([410] * 100)
    with pytest.raises(KubeError, match="planned 410"):
        await (await start(fake)).list(CONFIG_MAPS, "n")
    assert len(fake.tokens) == 2


async def test_without_credentials_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(CredentialsError, match="pass --kubeconfig"):
        await ApiServer.connect(Credentials())


def test_what_the_server_asks_for_is_the_least_wait() -> None:
    assert wait_before_retry(Failure(429, retry_after=3), 1, repeatable=False, jitter=lambda: 0.0) == 3


async def test_a_request_that_has_taken_long_is_not_tried_again_by_whoever_waits_for_it(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "PATIENCE", 0.2)
    fake = FakeApi([500] * 100, slow=0.3)
    with pytest.raises(Unavailable, match="planned 500"):
        await (await start(fake)).apply(CONFIG_MAPS, OBJECT, manager="arriero")
    assert len(fake.tokens) == 1


def test_waits_double() -> None:
    waits = [wait_before_retry(Failure(500), n, repeatable=True, jitter=lambda: 1.0) for n in range(1, 6)]
    assert waits == [0.2, 0.4, 0.8, 1.6, None]


def test_no_attempt_begins_after_the_patience_of_a_request() -> None:
    found = [
        wait_before_retry(failure, 1, repeatable=True, elapsed=elapsed, jitter=lambda: 1.0)
        for failure, elapsed in ((Failure(500), 4.7), (Failure(500), 4.9), (Failure(429, retry_after=6), 0.0))
    ]
    assert found == [0.2, None, None]


@pytest.mark.parametrize("code", [400, 403, 404, 409, 410, 422])
def test_an_answer_that_will_not_change_is_final(code: int) -> None:
    assert wait_before_retry(Failure(code), 1, repeatable=True) is None
