"""The file of names while it is followed."""

import asyncio
import json
from pathlib import Path
from unittest import mock

import pytest

from arriero_runtime import registrations
from arriero_runtime.registrations import Applied
from tests.runtime.server.harness import write_names
from tests.support.eventually import eventually_async
from tests.support.unreadable import no_more_files


class Followed:
    """What the file led to."""

    def __init__(self, path: Path) -> None:
        self.applied: list[Applied] = []
        self.complaints: list[str] = []
        watching = registrations.watch(path, registrations.read(path), self.applied.append, self.complaints.append)
        self.task = asyncio.ensure_future(watching)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(registrations, "POLL_SECONDS", 0.01)
    found = tmp_path / "registrations.json"
    write_names(found, "one")
    return found


def write_broken(file: Path) -> None:
    """No list of names."""
    file.write_text(json.dumps({"schemaVersion": 1, "names": "none"}))


async def test_a_change_that_cannot_be_read_at_first_is_applied_as_soon_as_it_can(file: Path) -> None:
    followed = Followed(file)
    with no_more_files(file) as tries:
        write_names(file, "one", "two")
        await eventually_async(lambda: tries.call_count >= 5)
        assert followed.applied == []
        assert [("Too many open files" in words) for words in followed.complaints] == [True]
    await eventually_async(lambda: [found.names for found in followed.applied] == [("one", "two")])
    followed.task.cancel()


async def test_a_broken_file_is_complained_of_once_and_its_successor_applied(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = mock.Mock(side_effect=registrations._mark)
    monkeypatch.setattr(registrations, "_mark", looks)
    followed = Followed(file)
    write_broken(file)
    await eventually_async(lambda: followed.complaints)
    before = looks.call_count
    await eventually_async(lambda: looks.call_count > before + 5)
    assert len(followed.complaints) == 1
    assert followed.applied == []
    write_names(file, "one", "two")
    await eventually_async(lambda: [found.names for found in followed.applied] == [("one", "two")])
    followed.task.cancel()
