"""llama-stack-client, of the API's own time and the newest that has these calls, registers and unregisters."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.cluster.images import environment
from tests.runtime.alone.harness import alone

PROGRAM = Path(__file__).with_name("calls.py")


@pytest.mark.full
@pytest.mark.parametrize("lock", ["clients.txt", "clients-newest.txt"])
async def test_clients_register_and_unregister(tmp_path: Path, lock: str) -> None:
    packages = await asyncio.to_thread(environment.clients, lock)
    async with alone(tmp_path) as one:
        url = str(one.client.base_url).rstrip("/")
        process = await asyncio.create_subprocess_exec(
            *(environment.PYTHON, PROGRAM, url, str(one.a), str(one.b)),
            env=environment.python_with(packages),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, errors = await asyncio.wait_for(process.communicate(), 120)
        assert process.returncode == 0, errors.decode()[-3000:]
    found = json.loads(out)
    model = found.pop("registered")
    assert (model["identifier"], model["model_type"], model["metadata"]["owner"]) == ("org/mine", "llm", "me")
    assert found == {
        "empty": [],
        "again": "org/mine",
        "alias": "alias",
        "retrieved": "org/mine",
        "names": ["org/mine", "alias"],
        "other": 409,
        "left": ["alias"],
        "gone": [],
        "never": 400,
        "next": "other",
    }
