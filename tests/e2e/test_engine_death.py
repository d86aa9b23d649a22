"""The engine of the only pod dies: the model says so at once, and serves again by itself."""

import os
import signal
import time

import pytest

from tests.e2e.conftest import Start, example
from tests.operator.reconcile.models import until
from tests.support.container_processes import process_of
from tests.support.eventually import PATIENCE
from tests.support.kubectl import Kubectl

pytestmark = [pytest.mark.node, pytest.mark.engine, pytest.mark.full]

NAME = "phoenix"
TOLD_SECONDS = 5.0


def test_a_model_whose_only_engine_dies_is_not_ready_within_five_seconds_and_comes_back(kubectl: Kubectl) -> None:
    kubectl.apply(example(NAME))
    start = Start(kubectl, NAME)
    try:
        start.wait_ready()
        (pod,) = kubectl.items("pods", f"arriero.dev/model={NAME}")
        (container,) = pod["status"]["containerStatuses"]
        engine = process_of(container, b"EngineCore")
        killed = time.monotonic()
        os.kill(engine, signal.SIGKILL)
        told = until(kubectl, NAME, "Ready", "False", timeout=30)
        assert time.monotonic() - killed <= TOLD_SECONDS * PATIENCE
        assert told["message"]
        start.wait_ready()
        assert start.pods() == {pod["metadata"]["uid"]: 1}
    finally:
        kubectl.run("delete", "im", NAME)
