"""Class D of the field cases: what is fetched, as whom, from which commit; the real client against the local hub."""

import asyncio
from pathlib import Path

import pytest

from arriero_api.contract import Failure
from arriero_runtime.failing import StartError
from arriero_runtime.sources import download, obtain
from tests.hub import Fault, Hub

NAME = "org/tiny"
SIZE = 3 * 1024 * 1024
FILES = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")


def publish(hub: Hub, tmp_path: Path, mark: str, gated: bool = False) -> str:
    """Make a model whose files all hold `mark` the head of the main branch."""
    folder = tmp_path / f"repo-{mark}"
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text(f'{{"mark": "{mark}"}}')
    for number in (1, 2, 3):
        (folder / f"model-0000{number}-of-00003.safetensors").write_bytes(mark.encode() * (SIZE // len(mark)))
    return hub.add_repo(NAME, folder, gated=gated)


async def fetch(tmp_path: Path, *, revision: str = "", pin: str = "") -> Path:
    resolved = await obtain.resolve(obtain.Wanted(f"hf://{NAME}", revision, pin, tmp_path / "cache"))
    return await resolved.fetch(lambda percent, words: None)


async def failure(tmp_path: Path) -> Failure:
    with pytest.raises(StartError) as caught:
        await fetch(tmp_path)
    return caught.value.failure


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("damage", ["shorter", "zeros at the end"])
async def test_d07_a_file_that_was_damaged_between_two_tries_is_fetched_anew(
    hub: Hub, tmp_path: Path, damage: str
) -> None:
    commit = publish(hub, tmp_path, "a")
    hub.fault(Fault(path="model-00003*", truncate_at=SIZE // 2))
    assert (await failure(tmp_path)).reason == "DownloadTruncated"
    hub.clear_faults()
    target = download.folder(tmp_path / "cache", NAME, commit)
    assert not target.exists()
    kept = target.with_name(f"{commit}.partial") / "model-00001-of-00003.safetensors"
    whole = kept.read_bytes()
    kept.write_bytes(whole[: SIZE // 2] + (b"" if damage == "shorter" else bytes(SIZE - SIZE // 2)))
    found = content(await fetch(tmp_path))
    assert found["model-00001-of-00003.safetensors"] == whole


async def test_d07_two_at_once_with_one_cache_fetch_each_file_once(hub: Hub, tmp_path: Path) -> None:
    publish(hub, tmp_path, "a")
    first, second = await asyncio.gather(fetch(tmp_path), fetch(tmp_path))
    assert first == second
    bodies = [seen.path for seen in hub.requests if seen.method == "GET" and "resolve" in seen.path]
    assert len(bodies) == len(set(bodies))


@pytest.mark.parametrize("status", [429, 503])
async def test_d07_a_busy_hub_is_tried_again_and_nothing_is_lost(hub: Hub, tmp_path: Path, status: int) -> None:
    publish(hub, tmp_path, "a")
    hub.fault(Fault(path="model-00002*", status=status, retry_after=1))
    assert (await failure(tmp_path)).reason in ("DownloadFailed", "SourceRateLimited")
    hub.clear_faults()
    assert len(content(await fetch(tmp_path))) == len(FILES) + 3


async def test_d08_white_space_around_the_token_does_no_harm(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(hub, tmp_path, "a", gated=True)
    hub.add_token("hf_good", opens=[NAME])
    monkeypatch.setenv("HF_TOKEN", " hf_good\n")
    assert (await fetch(tmp_path)).is_dir()


@pytest.mark.parametrize(
    ("token", "fault", "reason"),
    [
        ("", None, "ModelGated"),
        ("hf_else", None, "ModelGated"),
        ("hf_wrongwrong", None, "CredentialsInvalid"),
        ("hf_good", Fault(status=403), "Unauthorized"),
        ("hf_good", Fault(status=404), "ModelNotFound"),
        ("hf_good", Fault(status=429, retry_after=60), "SourceRateLimited"),
        (None, None, "CredentialsMissing"),
    ],
)
async def test_d08_each_way_to_be_refused_has_its_reason_and_shows_no_token(
    hub: Hub, tmp_path: Path, token: str | None, fault: Fault | None, reason: str
) -> None:
    publish(hub, tmp_path, "a", gated=True)
    hub.add_token("hf_good", opens=[NAME])
    hub.add_token("hf_else")
    if fault is not None:
        hub.fault(fault)
    place = tmp_path / "credentials" / "hub"
    place.mkdir(parents=True)
    (place / ("token" if token is not None else "password")).write_text(token or "x")
    secret = "hub" if token != "" else ""
    wanted = obtain.Wanted(f"hf://{NAME}", "", "", tmp_path / "cache", secret, tmp_path / "credentials")
    with pytest.raises(StartError) as caught:
        await (await obtain.resolve(wanted)).fetch(lambda percent, words: None)
    assert caught.value.failure.reason == reason
    assert not token or token not in caught.value.failure.to_json()


async def test_d11_every_file_comes_from_the_pinned_commit_and_no_request_names_the_branch(
    hub: Hub, tmp_path: Path
) -> None:
    pinned = publish(hub, tmp_path, "a")
    first = content(await fetch(tmp_path / "one", revision="main"))
    assert publish(hub, tmp_path, "b") != pinned
    before = len(hub.requests)
    again = content(await fetch(tmp_path / "two", revision="main", pin=pinned))
    assert again == first
    assert all(pinned in seen.path for seen in hub.requests[before:])
