"""Fetching from a hub: the real client against the local hub."""

import re
from pathlib import Path

import pytest

from arriero_api.contract import Failure
from arriero_runtime.failing import StartError
from arriero_runtime.sources import download, obtain, space
from arriero_runtime.sources.hub_heads import Head
from tests.hub import Fault, Hub

NAME = "somebody/model"
SIZE = 3 * 1024 * 1024


@pytest.fixture
def commit(hub: Hub, tmp_path: Path) -> str:
    folder = tmp_path / "repo"
    (folder / "original").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(bytes(SIZE))
    (folder / "pytorch_model.bin").write_bytes(b"the same again")
    (folder / "original" / "consolidated.00.pth").write_bytes(b"and again")
    (folder / "README.md").write_text("words")
    return hub.add_repo(NAME, folder)


class Seen:
    """What the fetch has reported."""

    def __init__(self) -> None:
        self.percents: list[int] = []
        self.words: list[str] = []

    def __call__(self, percent: int, words: str) -> None:
        self.percents.append(percent)
        self.words.append(words)


async def fetch(tmp_path: Path, seen: Seen | None = None, *, revision: str = "", pin: str = "") -> Path:
    resolved = await obtain.resolve(obtain.Wanted(f"hf://{NAME}", revision, pin, tmp_path / "cache"))
    return await resolved.fetch(seen or Seen())


async def failure(tmp_path: Path, *, revision: str = "", repository: str = NAME) -> Failure:
    with pytest.raises(StartError) as caught:
        resolved = await obtain.resolve(obtain.Wanted(f"hf://{repository}", revision, "", tmp_path / "cache"))
        await resolved.fetch(Seen())
    return caught.value.failure


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


async def test_what_the_engine_needs_is_fetched_and_nothing_twice(hub: Hub, commit: str, tmp_path: Path) -> None:
    folder = await fetch(tmp_path)
    assert folder == download.folder(tmp_path / "cache", NAME, commit)
    assert files(folder) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert (folder / "model.safetensors").stat().st_size == SIZE
    assert list(folder.parent.glob("*.partial")) == []


async def test_the_percent_grows_over_bytes_and_the_words_name_sizes_and_rate(
    hub: Hub, commit: str, tmp_path: Path
) -> None:
    # The client writes pieces of 10 MB.
    (tmp_path / "repo" / "model.safetensors").write_bytes(bytes(35 * 1024 * 1024))
    hub.add_repo(NAME, tmp_path / "repo")
    hub.fault(Fault(path="model.safetensors", bytes_per_second=20 * 1024 * 1024))
    seen = Seen()
    await fetch(tmp_path, seen)
    assert seen.percents == sorted(seen.percents)
    assert any(0 < percent < 100 for percent in seen.percents)
    assert any(re.fullmatch(r"\d+ of 36 MiB, [\d.]+ MiB/s", words) for words in seen.words), seen.words


async def test_a_pinned_commit_is_fetched_although_the_branch_has_moved(hub: Hub, commit: str, tmp_path: Path) -> None:
    (tmp_path / "repo" / "config.json").write_text('{"newer": true}')
    assert hub.add_repo(NAME, tmp_path / "repo") != commit
    folder = await fetch(tmp_path, pin=commit)
    assert folder.name == commit
    assert (folder / "config.json").read_text() == "{}"


async def test_a_commit_that_is_there_needs_no_hub(hub: Hub, commit: str, tmp_path: Path) -> None:
    first = await fetch(tmp_path)
    hub.stop()
    assert await fetch(tmp_path, pin=commit) == first
    assert await fetch(tmp_path, revision=commit) == first


async def test_a_file_of_other_content_is_refused_and_fetched_anew(hub: Hub, commit: str, tmp_path: Path) -> None:
    hub.fault(Fault(path="model.safetensors", garbled=True, times=1))
    told = await failure(tmp_path)
    assert told.reason == "ChecksumMismatch"
    assert f"model.safetensors of {NAME}" in told.message
    assert not download.folder(tmp_path / "cache", NAME, commit).exists()

    place = await fetch(tmp_path)
    assert (place / "model.safetensors").read_bytes() == bytes(SIZE)


async def test_an_interrupted_fetch_keeps_the_files_that_are_complete(hub: Hub, commit: str, tmp_path: Path) -> None:
    hub.fault(Fault(path="model.safetensors", truncate_at=SIZE // 2))
    assert (await failure(tmp_path)).reason == "DownloadTruncated"
    hub.clear_faults()
    before = len(hub.requests)
    await fetch(tmp_path)
    again = [seen.path for seen in hub.requests[before:] if seen.method == "GET" and "config.json" in seen.path]
    assert again == []


async def test_a_connection_that_breaks_is_resumed(hub: Hub, commit: str, tmp_path: Path) -> None:
    hub.fault(Fault(path="model.safetensors", truncate_at=SIZE // 2, times=1))
    folder = await fetch(tmp_path)
    assert (folder / "model.safetensors").stat().st_size == SIZE


async def test_an_unknown_repository_names_repository_revision_and_remedy(hub: Hub, tmp_path: Path) -> None:
    found = await failure(tmp_path, repository="somebody/misspelt")
    assert found.reason == "ModelNotFound"
    assert "somebody/misspelt" in found.message
    assert "revision main" in found.message
    assert "spec.model.uri" in found.remedy


async def test_an_unknown_revision_is_named(hub: Hub, commit: str, tmp_path: Path) -> None:
    found = await failure(tmp_path, revision="v9")
    assert (found.reason, "v9" in found.message) == ("RevisionNotFound", True)


@pytest.mark.parametrize("fault", [Fault(status=403), Fault(path="config.json", status=401)], ids=["all", "files"])
async def test_refused_access_is_unauthorized(hub: Hub, commit: str, tmp_path: Path, fault: Fault) -> None:
    hub.fault(fault)
    assert (await failure(tmp_path)).reason == "Unauthorized"


async def test_a_hub_that_says_401_without_a_code_for_what_it_does_not_have_names_the_repository(
    hub: Hub, tmp_path: Path
) -> None:
    hub.fault(Fault(path="api", status=401))
    found = await failure(tmp_path, repository="somebody/misspelt")
    assert found.reason == "ModelNotFound"
    assert "somebody/misspelt" in found.message
    assert "does not show it to this pod" in found.message


async def test_a_gated_repository_opens_with_the_pods_token_which_no_message_shows(
    hub: Hub, tmp_path: Path, commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add_repo(NAME, tmp_path / "repo", gated=True)
    hub.add_token("hf_good", opens=[NAME])
    hub.add_token("hf_else")
    assert (await failure(tmp_path)).reason == "ModelGated"
    monkeypatch.setenv("HF_TOKEN", "hf_else")
    assert (await failure(tmp_path)).reason == "ModelGated"
    monkeypatch.setenv("HF_TOKEN", "hf_badbadbad")
    found = await failure(tmp_path)
    assert found.reason == "CredentialsInvalid"
    assert "hf_bad" not in found.to_json()
    monkeypatch.setenv("HF_TOKEN", "hf_good")
    assert (await fetch(tmp_path)).is_dir()


async def test_too_many_requests_tell_how_long_to_wait(hub: Hub, commit: str, tmp_path: Path) -> None:
    hub.fault(Fault(path="api", status=429, retry_after=30))
    found = await failure(tmp_path)
    assert (found.reason, found.details) == ("SourceRateLimited", {"retryAfterSeconds": 30})


async def test_a_hub_that_is_not_there_is_unreachable(hub: Hub, commit: str, tmp_path: Path) -> None:
    hub.stop()
    found = await failure(tmp_path)
    assert (found.reason, hub.url in found.message) == ("SourceUnreachable", True)


async def test_a_passing_fault_of_the_hub_is_tried_again(hub: Hub, commit: str, tmp_path: Path) -> None:
    hub.fault(Fault(path="api", status=500, times=1))
    assert (await fetch(tmp_path)).is_dir()


async def test_a_model_larger_than_the_caches_limit_is_refused_before_a_byte_is_fetched(
    hub: Hub, commit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(space.LIMIT_VARIABLE, str(2 * 1024 * 1024))
    found = await failure(tmp_path)
    assert found.reason == "CacheTooSmall"
    assert "4 MiB" in found.message
    assert "2 MiB" in found.message
    assert found.details["availableBytes"] == 2 * 1024 * 1024
    assert not any(seen.method == "GET" and "resolve" in seen.path for seen in hub.requests)


async def test_a_repository_without_weights_is_incomplete(hub: Hub, commit: str, tmp_path: Path) -> None:
    for name in ("model.safetensors", "pytorch_model.bin"):
        (tmp_path / "repo" / name).unlink()
    hub.add_repo(NAME, tmp_path / "repo")
    found = await failure(tmp_path)
    assert (found.reason, "weights" in found.message) == ("ModelIncomplete", True)


async def test_a_later_process_goes_on_where_an_ended_one_has_come_to(hub: Hub, commit: str, tmp_path: Path) -> None:
    partial = download.folder(tmp_path / "cache", NAME, commit).with_name(f"{commit}.partial")
    partial.mkdir(parents=True)
    (partial / "model.safetensors.part").write_bytes(bytes(2 * 1024 * 1024))
    folder = await fetch(tmp_path)
    assert files(folder) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert (folder / "model.safetensors").read_bytes() == bytes(SIZE)
    asked = [seen.range for seen in hub.requests if seen.method == "GET" and "large-files" in seen.path]
    assert asked == [f"bytes={2 * 1024 * 1024}-"]


async def test_the_model_s_own_code_is_fetched_where_it_may_be_run_alone_and_from_the_pinned_commit(
    hub: Hub, tmp_path: Path
) -> None:
    folder = tmp_path / "coded"
    (folder / "parts").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "modeling_own.py").write_text("first = 1")
    (folder / "parts" / "layers.py").write_text("layers = 2")
    first = hub.add_repo(NAME, folder)
    (folder / "modeling_own.py").write_text("second = 2")
    assert hub.add_repo(NAME, folder) != first

    async def code(allowed: bool) -> dict[str, str]:
        wanted = obtain.Wanted(f"hf://{NAME}", "main", first, tmp_path / "cache", code=allowed)
        place = await (await obtain.resolve(wanted)).fetch(Seen())
        assert (place / "model.safetensors").is_file()
        return {str(file.relative_to(place)): file.read_text() for file in place.rglob("*.py")}

    allowed = {"modeling_own.py": "first = 1", "parts/layers.py": "layers = 2"}
    assert [await code(one) for one in (False, True, False)] == [{}, allowed, {}]


async def test_a_mirror_that_lists_no_sizes_is_asked_for_them_file_by_file(
    hub: Hub, commit: str, tmp_path: Path
) -> None:
    hub.tell_no_sizes()
    folder = await fetch(tmp_path)
    assert (folder.name, (folder / "model.safetensors").stat().st_size) == (commit, SIZE)
    asked = [seen.path.rpartition("/")[2] for seen in hub.requests if seen.method == "HEAD"]
    assert sorted(asked) == ["config.json", "model.safetensors", "tokenizer.json"]


async def test_what_a_mirror_without_sizes_gives_is_checked_by_entity_tags(
    hub: Hub, commit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.tell_no_sizes()
    hub.fault(Fault(path="model.safetensors", garbled=True))
    assert (await failure(tmp_path)).reason == "ChecksumMismatch"
    monkeypatch.setattr("arriero_runtime.sources.hub_heads.head", lambda client, url: Head(None, None))
    found = await failure(tmp_path)
    assert (found.reason, "does not tell the size of config.json" in found.message) == ("DownloadFailed", True)
