"""Supervisors that are gone after the test."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.supervisor.harness import Supervised


class Starter:
    """Starts supervisors in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Supervised] = []

    def __call__(self, scenario: str, **settings: Any) -> Supervised:
        """Start one that plays `scenario`."""
        self.started.append(Supervised(self.folder, scenario, **settings))
        return self.started[-1]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    """Starts supervisors that share a state folder, as the containers of one pod do."""
    starter = Starter(tmp_path)
    yield starter
    for supervised in starter.started:
        supervised.clean()
