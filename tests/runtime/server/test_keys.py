"""API keys: who is let in, what a change of the file does, and that nobody ever sees one."""

import hmac
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arriero_api.contract import Phase
from arriero_runtime.engine.protocol import Receive, Scope, Send
from arriero_runtime.messages import Failed
from arriero_runtime.server.keys import Keys, KeysUnusable, without_key
from arriero_runtime.server.routes import OPEN
from tests.runtime.server.harness import Running, error_of, options_for, running
from tests.support.unreadable import no_more_files

KEY = "sk-SENTINEL-0123456789"


def headers(key: str, scheme: str = "Bearer") -> dict[str, str]:
    return {"authorization": f"{scheme} {key}"}


def swap(file: Path, text: str) -> None:
    fresh = file.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(file)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "keys"
    found.write_text(f"{KEY}\n")
    return found


@pytest.fixture
async def server(tmp_path: Path, file: Path) -> AsyncIterator[Running]:
    async with running(options_for(tmp_path, ["--api-key-file", str(file)])) as found:
        yield found


def asked(keys: Keys, *values: str) -> bool:
    return keys.admits([(b"authorization", value.encode()) for value in values])


def test_only_a_whole_key_as_a_bearer_token_is_let_in(file: Path) -> None:
    keys = Keys(file)
    assert asked(keys, f"Bearer {KEY}")
    assert asked(keys, f"bearer   {KEY} ")
    for wrong in (
        "",
        KEY,
        f"Basic {KEY}",
        "Bearer",
        "Bearer ",
        f"Bearer {KEY[:-1]}",
        f"Bearer {KEY}x",
        f"Bearer {KEY},x",
    ):
        assert not asked(keys, wrong), wrong
    assert not asked(keys)
    assert not asked(keys, f"Bearer {KEY}", "Bearer other"), "which of two is meant is anybody's guess"


def test_a_key_may_also_come_as_clients_of_anthropics_api_send_it(file: Path) -> None:
    keys = Keys(file)
    plain = (b"x-api-key", KEY.encode())
    assert keys.admits([plain])
    assert not keys.admits([(b"x-api-key", f"Bearer {KEY}".encode())])
    assert not keys.admits([plain, (b"x-api-key", b"other")]), "which of two is meant is anybody's guess"
    assert keys.admits([(b"x-api-key", b"other"), (b"authorization", f"Bearer {KEY}".encode())])
    assert not keys.admits([plain, (b"authorization", b"Bearer other")])
    assert without_key([plain, (b"authorization", b"x"), (b"accept", b"*/*")]) == [(b"accept", b"*/*")]


@pytest.mark.parametrize("given", [f"Bearer {KEY}", "Bearer other", "Bearer sk", "Basic x", ""])
def test_every_key_is_compared_in_constant_time_whatever_is_given(
    file: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap(file, f"{KEY}\nsecond\nthird\n")
    keys = Keys(file)
    compared: list[tuple[int, int]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)
    assert asked(keys, given) == given.endswith(KEY)
    assert compared == [(32, 32)] * 3, "all of them, by digests of one length"


def test_a_change_counts_from_the_next_request_on(file: Path) -> None:
    keys = Keys(file)
    swap(file, f"new\n\n{KEY}\n")
    assert asked(keys, "Bearer new")
    assert asked(keys, f"Bearer {KEY}")
    swap(file, "new")
    assert asked(keys, "Bearer new")
    assert not asked(keys, f"Bearer {KEY}")


@pytest.mark.parametrize("change", ["empty", "gone"])
def test_a_file_without_keys_changes_nothing_and_is_told_without_them(
    file: Path, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    keys = Keys(file)
    with caplog.at_level(logging.INFO):
        if change == "empty":
            swap(file, "\n \n")
        else:
            file.unlink()
        assert asked(keys, f"Bearer {KEY}")
        assert not asked(keys, "Bearer ")
        assert not asked(keys)
    assert "stay as they were" in caplog.text
    assert KEY not in caplog.text


def test_a_change_that_cannot_be_read_at_first_counts_as_soon_as_it_can(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keys = Keys(file)
    swap(file, "new")
    with no_more_files(file):
        for _ in range(3):
            assert asked(keys, f"Bearer {KEY}")
    assert caplog.text.count("Too many open files") == 1
    assert asked(keys, "Bearer new")
    assert not asked(keys, f"Bearer {KEY}")


def test_a_start_without_a_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    for name in ("empty", "none"):
        with pytest.raises(KeysUnusable, match=name):
            Keys(tmp_path / name)


async def test_the_server_fails_with_a_reason_where_the_file_has_no_key(tmp_path: Path) -> None:
    async with running(options_for(tmp_path, ["--api-key-file", str(tmp_path / "none")]), ready=False) as server:
        assert await server.exit_code() == 1
        failure = server.heard(Failed)[0].failure
        assert failure.reason == "InvalidArguments"
        assert "--api-key-file" in failure.message


async def test_every_route_but_the_open_ones_needs_a_key(server: Running) -> None:
    routes = (await server.client.get("/v1/inspect/routes", headers=headers(KEY))).json()["data"]
    assert len(routes) > 10
    asks = [(route["method"], route["route"]) for route in routes] + [("GET", "/nope"), ("POST", "/invocations")]
    for method, path in asks:
        answer = await server.client.request(method, path.replace("{name}", "x"))
        if path in OPEN:
            assert answer.status_code == 200
            continue
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_refusal_has_the_form_of_its_api(server: Running) -> None:
    assert error_of(await server.chat())["type"] == "authentication_error"
    native = await server.client.post("/v1/inference/completion", json={})
    assert (native.status_code, list(native.json())) == (401, ["detail"])


async def test_the_right_key_reaches_the_engine_and_stays_outside_of_it(server: Running) -> None:
    seen: list[Scope] = []
    inner = server.engine.app

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await inner(scope, receive, send)

    server.serving.dispatcher.app = app
    answer = await server.client.post("/v1/chat/completions", json={"model": "one"}, headers=headers(KEY))
    assert answer.status_code == 200
    assert KEY not in str(seen[0]["headers"])
    wrong = await server.client.post("/v1/chat/completions", json={"model": "one"}, headers=headers("other"))
    assert wrong.status_code == 401
    assert len(seen) == 1


async def test_no_key_is_told_to_anybody(server: Running, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for key in (KEY, f"{KEY}-wrong"):
            await server.client.post("/v1/chat/completions", json={"model": "one"}, headers=headers(key))
        swap(file, f"{KEY}-next\n")
        answers = [await server.client.get(path, headers=headers(f"{KEY}-next")) for path in ("/metrics", "/version")]
    told = caplog.text + server.serving.dispatcher.counts.text() + str(answers) + json.dumps(str(server.told))
    assert "SENTINEL" not in told


async def test_without_a_file_everybody_may_ask(tmp_path: Path) -> None:
    async with running(options_for(tmp_path)) as server:
        await server.reach(Phase.READY)
        assert (await server.chat()).status_code == 200
