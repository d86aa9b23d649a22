"""A server that loads a model with the real engine goes on answering."""

import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.models import tiny
from tests.runtime.alone.real import alone_runtime

LONGEST_SECONDS = 5.0
"""For one answer, on a machine that is busy with the load; the load itself takes several times as long."""


@pytest.mark.full
@pytest.mark.timeout(900)
def test_the_server_is_never_deaf_while_a_model_loads(tmp_path: Path) -> None:
    waits: list[float] = []
    seen: list[int] = []
    over = threading.Event()

    def look(address: str) -> None:
        with httpx.Client(base_url=address, timeout=60) as client:
            while not over.is_set():
                began = time.monotonic()
                seen.append(client.get("/v1/health").status_code)
                waits.append(time.monotonic() - began)
                over.wait(0.05)

    with alone_runtime(tmp_path) as runtime:
        watcher = threading.Thread(target=look, args=(str(runtime.client.base_url),))
        watcher.start()
        try:
            began = time.monotonic()
            assert runtime.register("one", tiny()).status_code == 200
            took = time.monotonic() - began
        finally:
            over.set()
            watcher.join()
    assert took > LONGEST_SECONDS
    assert len(seen) > 20
    assert set(seen) <= {200, 503} and 503 in seen
    assert max(waits) < LONGEST_SECONDS
