"""What a source lists is written into the model's own folder or not at all, whatever names it chooses."""

import json
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from arriero_api.contract import Failure
from arriero_runtime.failing import StartError
from arriero_runtime.sources import obtain
from arriero_runtime.sources.inside import fault, stays_inside
from tests.runtime.sources.support import fetch, model, secret
from tests.sources.web import web_server

COMMIT = "1" * 40


@contextmanager
def hostile_hub(commit: str, *listed: str) -> Iterator[str]:
    """A hub that lists these files beside a model's, and has each of them; gives its address."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            names = ("config.json", "model.safetensors", *listed)
            told = {"id": "a/b", "sha": commit, "siblings": [{"rfilename": name, "size": 2} for name in names]}
            body = json.dumps(told).encode() if self.path.startswith("/api/") else b"{}"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Repo-Commit", commit)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def refused(folder: Path) -> Failure:
    """Why a model of the hub is not fetched."""
    with pytest.raises(StartError) as caught:
        found = await obtain.resolve(obtain.Wanted("hf://a/b", "", "", folder / "cache"))
        await found.fetch(lambda *_: None)
    return caught.value.failure


def written(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("commit", "listed"),
    [
        (COMMIT, "../../../../victim/config.json"),
        (COMMIT, "{folder}/victim/config.json"),
        (COMMIT, "sub/../../../other/config.json"),
        ("../../../victim", "README.md"),
        ("{folder}/victim", "README.md"),
    ],
)
async def test_a_hub_that_names_a_file_or_a_commit_elsewhere_is_refused(
    commit: str, listed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hostile_hub(commit.format(folder=tmp_path), listed.format(folder=tmp_path)) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        failure = await refused(tmp_path)
    assert failure.reason == "ModelIncomplete"
    assert "outside of its folder" in failure.message
    assert not written(tmp_path)


TOO_LONG = f"{'x' * 300}.json"
CLASHES = [
    ("config.json/x.json", "the file 'config.json', and 'config.json/x.json' as if it were a folder"),
    ("config.json.part/x.json", "the file 'config.json', and 'config.json.part/x.json' as if it were a folder"),
    (TOO_LONG, "a file whose name has 305 bytes, where 240 are allowed: 'xxx"),
    (f"{'é' * 120}.json", "a file whose name has 245 bytes"),
    (f"{'abc/' * 700}x.json", "a file whose path has 2106 bytes"),
    ("\ud800.json", "a file whose name is no text: '\\ud800.json'"),
]


@pytest.mark.parametrize(("listed", "words"), CLASHES, ids=ascii)
async def test_a_hub_that_names_what_no_disk_can_hold_is_blamed_with_the_file_and_not_the_volume(
    listed: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hostile_hub(COMMIT, listed) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        failure = await refused(tmp_path)
    assert failure.reason == "ModelIncomplete"
    assert failure.message.startswith(f"{address} lists for a/b at revision main {words}")
    assert len(failure.message) < 500
    assert not written(tmp_path)


@pytest.mark.parametrize("extra", ["config.json/x.json", TOO_LONG, "tiny.zip/x.json"])
async def test_an_archive_that_holds_what_no_disk_can_is_blamed_with_the_file(extra: str, tmp_path: Path) -> None:
    for name in ("certificates", "site"):
        (tmp_path / name).mkdir()
    with web_server(tmp_path / "site", tmp_path / "certificates") as web:
        trust = secret(tmp_path, "web", ca_crt=web.ca)
        with zipfile.ZipFile(web.folder / "tiny.zip", "w") as archive:
            for path in model(tmp_path / "packed").iterdir():
                archive.write(path, path.name)
            archive.writestr(extra, "{}")
        with pytest.raises(StartError) as caught:
            await fetch(tmp_path, f"https://{web.host}/tiny.zip", trust)
    assert caught.value.failure.reason == "ModelIncomplete"
    assert f"The archive https://{web.host}/tiny.zip holds" in caught.value.failure.message
    assert extra[:40] in caught.value.failure.message


@pytest.mark.parametrize(("name", "words"), CLASHES, ids=ascii)
def test_names_that_no_disk_can_hold_beside_each_other_are_told(name: str, words: str) -> None:
    assert fault(["config.json", name, "model.safetensors"]).startswith(words)
    assert fault(["config.json", "1_Pooling/config.json", "config.json2/x.json"]) == ""


@pytest.mark.parametrize("served", [True, False])
@pytest.mark.parametrize("elsewhere", ["{folder}/victim/x.safetensors", "../victim/x.safetensors"])
async def test_an_index_that_names_weights_elsewhere_is_refused(elsewhere: str, served: bool, tmp_path: Path) -> None:
    for name in ("certificates", "site", "victim"):
        (tmp_path / name).mkdir()
    with web_server(tmp_path / "site", tmp_path / "certificates") as web:
        trust = secret(tmp_path, "web", ca_crt=web.ca)
        place = model(web.folder / "tiny")
        name = elsewhere.format(folder=tmp_path)
        if served:
            weights = (place / name.lstrip("/")).resolve()
            weights.parent.mkdir(parents=True, exist_ok=True)
            weights.write_bytes(b"other weights")
        (place / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
        with pytest.raises(StartError) as caught:
            await fetch(tmp_path, f"https://{web.host}/tiny", trust)
    assert caught.value.failure.reason == "ModelIncomplete"
    assert repr(name) in caught.value.failure.message
    assert not [path for _, path, _ in web.asked if "victim" in path]
    assert not written(tmp_path / "victim")


@pytest.mark.parametrize("path", ["a", "a/b.json", "..a/b..", "a b"])
def test_names_below_the_folder_stay_inside(path: str) -> None:
    assert stays_inside(path)


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", ".", "./a", "..", "../a", "a/../b", "a/..", "a\0b"])
def test_names_that_lead_elsewhere_do_not(path: str) -> None:
    assert not stays_inside(path)
