"""The operator's process in its pod stands still: the real kubelet finds that out by /livez and starts it anew."""

import os
import signal

import pytest

from tests.demo.install import SYSTEM, Stage
from tests.e2e.conftest import example
from tests.operator.reconcile.models import until
from tests.support.container_processes import process_of
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object

pytestmark = [pytest.mark.node, pytest.mark.full]

NOTICED_SECONDS = 150
"""Six probes of ten seconds, half a minute of grace for a process that does not end, and the new start."""
NAME = "nowhere"


def _pod(system: Kubectl) -> Object:
    (found,) = system.items("pods", "app.kubernetes.io/name=arriero-operator")
    return found


def _container(system: Kubectl) -> Object:
    (found,) = _pod(system)["status"]["containerStatuses"]
    return dict(found)


def test_an_operator_that_stands_still_is_started_anew_by_the_kubelet_and_works_again(
    stage: Stage, kubectl: Kubectl
) -> None:
    system = kubectl.within(SYSTEM)
    before = _container(system)
    os.kill(process_of(before, b"arriero_operator"), signal.SIGSTOP)
    kubectl.apply(example(NAME) | {"spec": {"model": {"uri": "hf://org/tiny"}, "profile": "none-of-the-charts"}})
    try:

        def anew() -> bool:
            now = _container(system)
            return now["restartCount"] == before["restartCount"] + 1 and bool(now["ready"])

        eventually(anew, NOTICED_SECONDS)
        until(kubectl, NAME, "Accepted", "False", timeout=20)
        ended = _container(system)["lastState"]["terminated"]
        assert ended["exitCode"] == 128 + signal.SIGKILL
        assert [one for one in system.items("events") if one["reason"] == "Unhealthy" and "Liveness" in one["message"]]
    finally:
        kubectl.run("delete", "im", NAME)
