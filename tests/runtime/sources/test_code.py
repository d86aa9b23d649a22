"""A model that brings its own code along, from a hub, with the real engine."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import models
from tests.hub import Hub
from tests.runtime.openai.asking import complete
from tests.support.live import live

NAME = "team/own"
CONFIGURATION = """from transformers import LlamaConfig

from .shared_own import TYPE


class OwnConfig(LlamaConfig):
    model_type = TYPE
"""
pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    folder = tmp_path / "repository"
    shutil.copytree(models.tiny(), folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "configuration_own.OwnConfig"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "configuration_own.py").write_text(CONFIGURATION)
    (folder / "shared_own.py").write_text('TYPE = "own"\n')
    with Hub.start() as found:
        found.add_repo(NAME, folder)
        yield found


def test_its_code_is_fetched_and_run_where_the_resource_allows_it(hub: Hub, tmp_path: Path) -> None:
    variables = {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0"}
    place = tmp_path / "live"
    place.mkdir()
    options = ("--max-model-len=512",), ("--trust-remote-code",)
    with live(f"hf://{NAME}", place, *options, variables) as server, server.client() as client:
        assert complete(client).status_code == 200


def test_without_leave_it_is_not_even_fetched_and_the_field_is_named(hub: Hub, tmp_path: Path) -> None:
    place = tmp_path / "live"
    place.mkdir()
    variables = {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0"}
    with pytest.raises(RuntimeError, match="the runtime has ended"), live(f"hf://{NAME}", place, (), (), variables):
        pass
    told = json.loads((place / "termination.json").read_text())
    assert told["reason"] == "ModelUnsupported"
    assert "spec.model.trustRemoteCode" in told["remedy"]
    assert not any(seen.path.endswith(".py") for seen in hub.requests)
