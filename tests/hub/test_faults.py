"""The faults that tests ask for, as the real client meets them."""

import time
from pathlib import Path

import httpx
import httpx2
import pytest
from huggingface_hub import HfApi, hf_hub_download
from huggingface_hub.errors import HfHubHTTPError

from tests.hub import Fault, Hub, RemoteHub
from tests.hub.conftest import NAME

LARGE = "model.safetensors"


def download(hub: Hub, cache: Path) -> Path:
    return Path(hf_hub_download(NAME, LARGE, endpoint=hub.url, cache_dir=cache, token=False))


def test_an_error_lasts_as_many_requests_as_asked(hub: Hub) -> None:
    hub.fault(Fault(path="api", status=500, times=1))
    with pytest.raises(HfHubHTTPError) as failed:
        HfApi(hub.url, token=False).model_info(NAME)
    assert failed.value.response.status_code == 500
    assert HfApi(hub.url, token=False).model_info(NAME).id == NAME


def test_too_many_requests_says_when_to_come_back(hub: Hub) -> None:
    hub.fault(Fault(repository="acme/*", path="config.json", status=429, retry_after=7))
    response = httpx.get(f"{hub.url}/{NAME}/resolve/main/config.json")
    assert (response.status_code, response.headers["retry-after"]) == (429, "7")
    hub.clear_faults()
    assert httpx.get(f"{hub.url}/{NAME}/resolve/main/config.json").status_code == 200


def test_one_broken_connection_is_mended_by_a_resume(hub: Hub, folder: Path, tmp_path: Path) -> None:
    # The client writes pieces of 10 MB, so a smaller file would start anew.
    (folder / LARGE).write_bytes(bytes(range(256)) * 70_000)
    hub.add_repo(NAME, folder)
    hub.fault(Fault(path=LARGE, truncate_at=15_000_000, times=1))
    assert download(hub, tmp_path).read_bytes() == (folder / LARGE).read_bytes()
    last = hub.requests[-1]
    assert last.status == 206
    assert last.range.startswith("bytes=10")


def test_a_file_that_always_breaks_off_is_never_whole(hub: Hub) -> None:
    hub.fault(Fault(path=LARGE, truncate_at=120_000))
    url = f"{hub.url}/{NAME}/resolve/main/{LARGE}"
    for headers in ({}, {"Range": "bytes=120000-"}):
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(url, headers=headers, follow_redirects=True)


def test_a_throttled_body_takes_its_time(hub: Hub, folder: Path, tmp_path: Path) -> None:
    hub.fault(Fault(path=LARGE, bytes_per_second=400_000))
    begin = time.monotonic()
    assert download(hub, tmp_path).read_bytes() == (folder / LARGE).read_bytes()
    assert time.monotonic() - begin >= 0.5


def test_a_silent_hub_is_noticed_by_the_clients_own_limit_and_can_be_stopped(folder: Path) -> None:
    with Hub.start() as hub:
        hub.add_repo(NAME, folder)
        hub.fault(Fault(silent=True))
        with pytest.raises(httpx2.TimeoutException):
            HfApi(hub.url, token=False).model_info(NAME, timeout=1)
    # Only after the end is it sure that it answers no more, also not to the client that has left.
    assert [seen.status for seen in hub.requests] == [0]


def test_a_fault_of_no_kind_or_of_two_is_refused(hub: Hub) -> None:
    for kinds in ({}, {"status": 500, "silent": True}):
        with pytest.raises(ValueError, match="exactly one"):
            Fault(**kinds)  # type: ignore[arg-type]
    remote = RemoteHub(hub.url)
    remote.fault(Fault(status=503))
    assert httpx.get(f"{hub.url}/api/models/{NAME}").status_code == 503
    remote.clear_faults()
    assert httpx.get(f"{hub.url}/api/models/{NAME}").status_code == 200
    remote.close()
