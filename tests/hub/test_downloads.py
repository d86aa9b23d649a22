"""What huggingface_hub, the real client, gets from the hub when all is well."""

from pathlib import Path

import httpx
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.file_download import http_get

from tests.hub import Hub, RemoteHub
from tests.hub.conftest import NAME


def snapshot(hub: Hub, cache: Path, revision: str | None = None) -> Path:
    return Path(
        snapshot_download(NAME, revision=revision, endpoint=hub.url, cache_dir=cache, token=False, max_workers=2)
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_snapshot_holds_every_file_of_the_branch(hub: Hub, folder: Path, tmp_path: Path) -> None:
    assert contents(snapshot(hub, tmp_path / "cache")) == contents(folder)


def test_a_snapshot_is_kept_under_the_commit_that_the_hub_names(hub: Hub, tmp_path: Path) -> None:
    sha = HfApi(hub.url, token=False).model_info(NAME).sha
    assert snapshot(hub, tmp_path / "cache").name == sha


def test_a_pinned_commit_stays_available_after_its_branch_moved(hub: Hub, folder: Path, tmp_path: Path) -> None:
    before = HfApi(hub.url, token=False).model_info(NAME).sha
    (folder / "config.json").write_text('{"model_type": "qwen2"}')
    after = hub.add_repo(NAME, folder)
    assert after != before
    assert (snapshot(hub, tmp_path / "cache") / "config.json").read_text() == '{"model_type": "qwen2"}'
    assert snapshot(hub, tmp_path / "cache", before).name == before


def test_the_same_content_has_the_same_commit_everywhere(hub: Hub, folder: Path) -> None:
    with Hub.start() as other:
        assert other.add_repo("else/where", folder) == HfApi(hub.url, token=False).model_info(NAME).sha


def test_sizes_and_checksums_are_known_before_a_download(hub: Hub) -> None:
    info = HfApi(hub.url, token=False).model_info(NAME, files_metadata=True)
    files = {file.rfilename: file for file in info.siblings or []}
    assert {name: file.size for name, file in files.items()} == {
        "config.json": 23,
        "onnx/notes.txt": 7,
        "model.safetensors": 200_000,
    }
    lfs = files["model.safetensors"].lfs
    assert lfs and lfs.size == 200_000 and len(lfs.sha256) == 64


def test_another_branch_has_its_own_content(hub: Hub, folder: Path, tmp_path: Path) -> None:
    (folder / "config.json").write_text("{}")
    hub.add_repo(NAME, folder, branch="next")
    assert (snapshot(hub, tmp_path / "cache", "next") / "config.json").read_text() == "{}"
    assert (snapshot(hub, tmp_path / "cache") / "config.json").read_text() != "{}"
    refs = HfApi(hub.url, token=False).list_repo_refs(NAME)
    assert {branch.name for branch in refs.branches} == {"main", "next"}


def test_a_large_file_comes_by_redirect_with_its_headers_on_both(hub: Hub) -> None:
    first = httpx.head(f"{hub.url}/{NAME}/resolve/main/model.safetensors")
    assert first.status_code == 302
    second = httpx.head(first.headers["location"])
    for response in (first, second):
        assert response.headers["x-linked-size"] == "200000"
        assert response.headers["x-repo-commit"] == HfApi(hub.url, token=False).model_info(NAME).sha
    assert second.headers["content-length"] == "200000"


def test_a_partial_file_is_resumed_by_range(hub: Hub, folder: Path, tmp_path: Path) -> None:
    large = folder / "model.safetensors"
    url = f"{hub.url}/{NAME}/resolve/main/{large.name}"
    with (tmp_path / "partial").open("w+b") as partial:
        partial.write(large.read_bytes()[:150_000])
        http_get(url, partial, resume_size=150_000, expected_size=200_000)
        partial.seek(0)
        assert partial.read() == large.read_bytes()
    last = hub.requests[-1]
    assert (last.status, last.range) == (206, "bytes=150000-")


def test_a_range_outside_of_the_file_is_refused(hub: Hub) -> None:
    url = f"{hub.url}/{NAME}/resolve/main/config.json"
    assert httpx.get(url, headers={"Range": "bytes=4-7"}).text == "del_"
    assert httpx.get(url, headers={"Range": "bytes=23-"}).status_code == 416


def test_a_hub_in_another_process_takes_the_same_orders(hub: Hub, folder: Path) -> None:
    remote = RemoteHub(hub.url)
    sha = remote.add_repo("acme/again", folder, gated=True)
    assert HfApi(hub.url, token=False).model_info("acme/again").sha == sha
    assert [seen.path for seen in remote.requests] == ["/api/models/acme/again"]
    remote.close()
