"""What the real client raises when the hub says no."""

from pathlib import Path

import pytest
from huggingface_hub import HfApi, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from tests.hub import Hub
from tests.hub.conftest import NAME


def info(hub: Hub, name: str, token: str | bool = False) -> None:
    HfApi(hub.url).model_info(name, token=token)


def download(hub: Hub, cache: Path, token: str | bool = False, file: str = "config.json") -> None:
    hf_hub_download(NAME, file, endpoint=hub.url, cache_dir=cache, token=token)


def test_an_unknown_repository_is_401_for_anonymous_and_404_for_known_callers(hub: Hub) -> None:
    hub.add_token("hf_known")
    with pytest.raises(RepositoryNotFoundError) as anonymous:
        info(hub, "acme/smal")
    with pytest.raises(RepositoryNotFoundError) as known:
        info(hub, "acme/smal", "hf_known")
    assert (anonymous.value.response.status_code, known.value.response.status_code) == (401, 404)


def test_a_snapshot_of_an_unknown_repository_names_it(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(RepositoryNotFoundError, match="acme/smal"):
        snapshot_download("acme/smal", endpoint=hub.url, cache_dir=tmp_path, token=False)


def test_an_unknown_revision_is_told_from_an_unknown_repository(hub: Hub, tmp_path: Path) -> None:
    for revision in ("nonesuch", "0" * 40):
        with pytest.raises(RevisionNotFoundError):
            snapshot_download(NAME, revision=revision, endpoint=hub.url, cache_dir=tmp_path, token=False)


def test_a_missing_file_is_told_from_a_missing_revision(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(RemoteEntryNotFoundError):
        download(hub, tmp_path, file="nonesuch.json")


def test_a_gated_repository_shows_itself_and_withholds_its_files(hub: Hub, folder: Path, tmp_path: Path) -> None:
    hub.add_repo(NAME, folder, gated=True)
    hub.add_token("hf_other")
    info(hub, NAME)
    with pytest.raises(GatedRepoError) as anonymous:
        download(hub, tmp_path)
    with pytest.raises(GatedRepoError) as other:
        download(hub, tmp_path, "hf_other")
    assert (anonymous.value.response.status_code, other.value.response.status_code) == (401, 403)


def test_a_token_opens_its_gated_and_private_repositories(hub: Hub, folder: Path, tmp_path: Path) -> None:
    hub.add_repo(NAME, folder, gated=True, private=True)
    hub.add_token("hf_mine", [NAME])
    download(hub, tmp_path, "hf_mine")
    with pytest.raises(RepositoryNotFoundError):
        info(hub, NAME)


def test_an_invalid_token_is_said_to_be_invalid(hub: Hub) -> None:
    with pytest.raises(HfHubHTTPError, match="Invalid credentials") as refused:
        info(hub, NAME, "hf_wrong")
    assert not isinstance(refused.value, RepositoryNotFoundError)


def test_a_folder_without_files_is_no_repository(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="holds no files"):
        hub.add_repo("acme/empty", tmp_path / "empty")
