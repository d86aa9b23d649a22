"""Fixtures for everything that needs a Kubernetes: one control plane for the session, a namespace for each test. And a
hub for everything that fetches."""

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.credentials import Credentials
from tests.cluster import ControlPlane
from tests.hub import Hub
from tests.support import used_rights
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl
from tests.support.operator import OperatorProcess, operator_kubeconfig, operator_settings

ONE_NODE = (
    "tests/e2e/",
    "tests/demo/test_demo.py",
    "tests/cluster/test_node.py",
    "tests/cluster/images/test_containerd.py",
    "tests/models/test_models.py",
)
"""Where tests marked node are."""
# How long one example takes says how busy the machine is, and nothing else.
settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")
CRD = Path(__file__).parents[1] / "crds" / "arriero.dev_inferencemodels.yaml"


class MakeOperator(Protocol):
    """Starts an operator for the test's namespace; it is ended with the test."""

    def __call__(
        self, *, ready: bool = True, program: tuple[str, ...] = ..., identity: str = ..., **settings: Any
    ) -> OperatorProcess:
        """`settings` replace top-level keys of the chart's; `ready` waits for /readyz."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """--full also runs what is slow."""
    parser.addoption("--full", action="store_true", help="also run the tests marked full")


class OneNodeAtATime(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Tests go to whichever worker is free; those of the one real node of this machine all to the same."""

    def _split_scope(self, nodeid: str) -> str:
        return "node" if nodeid.startswith(ONE_NODE) else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneNodeAtATime:
    """xdist's own groups need a node id that pytest 9.2 does not let it change."""
    return OneNodeAtATime(config, log)


def pytest_itemcollected(item: pytest.Item) -> None:
    """A test of the real node outside of the places named here would run beside another one: refused."""
    if item.get_closest_marker("node") and not item.nodeid.startswith(ONE_NODE):
        raise pytest.UsageError(f"{item.nodeid} is marked node: name its file in ONE_NODE of tests/conftest.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the tests marked full out unless --full is given."""
    if not config.getoption("--full"):
        skip = pytest.mark.skip(reason="only with --full")
        for item in items:
            if item.get_closest_marker("full"):
                item.add_marker(skip)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A whole run fails where operators have used other rights than the chart grants: fewer, or more."""
    config = session.config
    chosen = config.args_source is pytest.Config.ArgsSource.ARGS or config.option.keyword or config.option.markexpr
    if (
        chosen
        or config.option.collectonly
        or hasattr(config, "workerinput")
        or session.exitstatus != pytest.ExitCode.OK
    ):
        return
    found = used_rights.collected([shared_folder(config._tmp_path_factory)])  # type: ignore[attr-defined]
    if left := used_rights.wrong(found):
        print("\nThe chart's rights are not those that operators use:", *left, sep="\n  ")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of the run have in common."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """An empty hub, where what this test starts fetches models as nobody in particular."""
    with Hub.start() as found:
        monkeypatch.setenv("HF_ENDPOINT", found.url)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield found


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with fake nodes and the InferenceModel resource."""
    plane = ControlPlane.start(f"tests-{os.getpid()}")
    try:
        admin = Kubectl(plane.bin, plane.kubeconfig)
        admin.run("apply", "--server-side", "-f", str(CRD))
        # kubectl gives up at once on a resource that has no conditions yet.
        established = ("wait", "--for=condition=Established", "crd/inferencemodels.arriero.dev", "--timeout=5s")
        eventually(lambda: admin.run(*established), 30)
        yield plane
        worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        used_rights.write_down(plane.audit_log, shared_folder(tmp_path_factory), worker)
    finally:
        plane.stop()


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A fresh namespace in which pods can be made; deleted afterwards without waiting."""
    with fresh_namespace(control_plane) as kubectl:
        yield kubectl.namespace


@contextmanager
def fresh_namespace(control_plane: ControlPlane) -> Iterator[Kubectl]:
    """The same for tests that need another one: the admin's kubectl in it."""
    name = f"test-{secrets.token_hex(4)}"
    kubectl = Kubectl(control_plane.bin, control_plane.kubeconfig, name)
    kubectl.run("create", "namespace", name)
    eventually(lambda: kubectl.exists("serviceaccount", "default"))
    yield kubectl
    kubectl.run("delete", "namespace", name, "--wait=false")


@pytest.fixture
def kubectl(control_plane: ControlPlane, namespace: str) -> Kubectl:
    """The admin's kubectl in the test's namespace."""
    return Kubectl(control_plane.bin, control_plane.kubeconfig, namespace)


@pytest.fixture
async def kube(control_plane: ControlPlane) -> AsyncIterator[ApiServer]:
    """The operator's client, with the admin's rights."""
    api = await ApiServer.connect(Credentials(control_plane.kubeconfig))
    yield api
    await api.close()


@pytest.fixture
def operator(kubectl: Kubectl, tmp_path: Path) -> Iterator[MakeOperator]:
    """MakeOperator: whole operators as processes, with the chart's rights in the test's namespace."""
    kubeconfig = operator_kubeconfig(kubectl, tmp_path)
    running: list[OperatorProcess] = []

    def make(
        *,
        ready: bool = True,
        program: tuple[str, ...] = ("-m", "arriero_operator"),
        identity: str = "operator-0",
        **settings: Any,
    ) -> OperatorProcess:
        wanted = operator_settings(kubectl.namespace, **settings)
        process = OperatorProcess(kubectl, tmp_path, wanted, kubeconfig, identity, program)
        running.append(process)
        process.start()
        if ready:
            process.wait_ready()
        return process

    yield make
    for process in running:
        process.stop()
