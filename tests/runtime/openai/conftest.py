"""One runtime with the real engine for all tests of this folder that need one."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests import models
from tests.support.live import Live, live

LENGTH = 1024
"""--max-model-len of the server."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """SmolLM2, with a tool parser."""
    folder = tmp_path_factory.mktemp("live")
    options = ("--tool-call-parser", "hermes", "--request-timeout-seconds", "120")
    with live(models.smollm2(), folder, ("--max-model-len", str(LENGTH)), options) as found:
        yield found


@pytest.fixture
def client(server: Live) -> Iterator[httpx.Client]:
    """For port 8080."""
    with server.client() as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """For a server of the test's own."""
    return tmp_path
