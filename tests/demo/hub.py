"""The local hub that plays the Hugging Face hub, on the node's own address: pods reach it, nobody else does."""

import sys
import urllib.error
import urllib.request

from tests.cluster import Cluster
from tests.cluster.state import CLUSTER, State
from tests.cluster.waiting import until
from tests.demo.tools import CHECKOUT
from tests.models import smollm2

PORT = 8642
REPOSITORY = "HuggingFaceTB/SmolLM2-135M-Instruct"
BYTES_PER_SECOND = 32_000_000
"""As over a fast line, so that the download is there to be seen."""
_NAME = "hub"
_SECONDS = 60


def start(cluster: Cluster) -> str:
    """Start it anew with the model and return its URL; it ends with the cluster, or by `stop`."""
    folder = smollm2()
    records = State(CLUSTER).records
    records.end(_NAME)
    records.keep(
        _NAME,
        [
            "/usr/bin/env",
            f"PYTHONPATH={CHECKOUT}",
            sys.executable,
            "-m",
            "tests.hub",
            f"--host={cluster.node_address}",
            f"--port={PORT}",
            f"--bytes-per-second={BYTES_PER_SECOND}",
            f"--repo={REPOSITORY}={folder}",
        ],
    )
    url = f"http://{cluster.node_address}:{PORT}"

    def answers() -> bool:
        records.require(_NAME)
        return _knows(url)

    until(answers, _SECONDS, "the local hub answers")
    return url


def stop() -> None:
    """End it; does no harm when it does not run."""
    State(CLUSTER).records.end(_NAME)


def _knows(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/api/models/{REPOSITORY}", timeout=5) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, TimeoutError):
        return False
