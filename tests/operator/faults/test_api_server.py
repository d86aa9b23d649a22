"""An API server that is slow, away, busy or forgetful: the end is right, and the process is not the worse for it."""

import json
import time

import pytest

from tests.cluster import ControlPlane
from tests.operator.faults.conftest import MakeBehind, serve
from tests.operator.reconcile.models import model, patch_spec, until
from tests.support.eventually import eventually
from tests.support.faults import Passed, Reply, Seen, Stream, always, gone_event, status, times
from tests.support.kubectl import Kubectl
from tests.support.operator import OperatorProcess
from tests.support.proxy import Proxy

pytestmark = pytest.mark.control_plane

BUSY = status(429, "TooManyRequests", "too many requests", Retry_After="1")
BROKEN = status(503, "ServiceUnavailable", "etcdserver: leader changed")
TIMED_OUT = status(500, "InternalError", "etcdserver: request timed out")
CONFLICT = status(409, "Conflict", "the object has been modified; please apply your changes to the latest version")

EXPIRED = status(410, "Expired", "The provided continue parameter is too old to display a consistent list result.")


def further_page_of_models(seen: Seen) -> bool:
    """A further page of a list of InferenceModels: each page has one."""
    return seen.continued and seen.resource == "inferencemodels"


def further_page_of_services(seen: Seen) -> bool:
    """The same of Services, which Kopf does not read."""
    return seen.continued and seen.resource == "services"


def short(seen: Seen) -> bool:
    """A request that is answered at once."""
    return not seen.watch


def writes(seen: Seen) -> bool:
    """A write of a model's children, status or Events; the Lease is left in peace."""
    return seen.write and seen.resource != "leases"


def status_writes(seen: Seen) -> bool:
    """A write of a model's status."""
    return seen.write and seen.subresource == "status"


def critical(operator: OperatorProcess) -> list[str]:
    """What it died of, if it did."""
    return [line["error"] for line in operator.lines() if line["level"] == "critical"]


@pytest.mark.full
def test_an_api_server_that_is_slow_delays_a_model_and_costs_no_lease(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    operator = behind()
    with way.fault(always(short, Passed(delay=0.5))):
        serve(kubectl, timeout=60)
    assert not operator.has_ended()
    assert not critical(operator)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(BUSY, id="too many requests"),
        pytest.param(CONFLICT, id="conflict"),
        pytest.param(BROKEN, id="unavailable", marks=pytest.mark.full),
        pytest.param(TIMED_OUT, id="internal error", marks=pytest.mark.full),
        pytest.param(Reply(504, b"<html>gateway timeout</html>"), id="a balancer's own page", marks=pytest.mark.full),
    ],
)
def test_writes_that_are_turned_away_for_a_while_are_made_up_for(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl, answer: Reply
) -> None:
    operator = behind()
    with way.fault(times(12, writes, answer)):
        serve(kubectl)
    assert not critical(operator)


@pytest.mark.full
def test_a_conflict_over_the_status_is_settled(behind: MakeBehind, way: Proxy, kubectl: Kubectl) -> None:
    operator = behind()
    with way.fault(times(3, status_writes, CONFLICT)):
        serve(kubectl)
    assert not critical(operator)


def away_for(operator: OperatorProcess, way: Proxy, kubectl: Kubectl, seconds: float) -> None:
    """The API server is away from the operator, while users go on; a kubelet starts what has ended anew."""
    began = time.monotonic()
    with way.away():
        patch_spec(kubectl, "tiny", {"replicas": 2})
        kubectl.run("delete", "service", "tiny")
        eventually(operator.has_ended, 20)
        assert "not renewed in time" in critical(operator)[-1]
        starts = 1
        operator.start()
        while time.monotonic() < began + seconds or operator.ask("/livez")[0] != 200:
            if operator.has_ended():
                starts += 1
                operator.start()
            time.sleep(0.2)
        assert starts == 1, "a process that finds no API server waits for it"
        assert operator.ask("/readyz")[0] == 503
    eventually(lambda: kubectl.json("get", "deployment", "tiny")["spec"]["replicas"] == 2, 30)
    eventually(lambda: kubectl.exists("service", "tiny"))
    until(kubectl, "tiny", "Ready", "True", "Ready", timeout=20)
    assert not operator.has_ended()


def test_what_happened_while_the_api_server_was_away_is_made_up_for(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    operator = behind()
    serve(kubectl)
    away_for(operator, way, kubectl, 12)


@pytest.mark.full
def test_five_minutes_without_an_api_server_end_as_a_moment_does(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    operator = behind()
    serve(kubectl)
    away_for(operator, way, kubectl, 300)


class Watches:
    """What becomes of watch lines; a test changes `mode` as it goes: "", "deaf" (nothing comes), "gone" (410)."""

    def __init__(self, resource: str = "") -> None:
        self.mode = ""
        self._resource = resource
        self._age = 0

    def silence(self) -> None:
        """Nothing comes any more on the streams that are open, as where the other end has gone unnoticed."""
        self._age += 1

    def fault(self, seen: Seen) -> Stream | None:
        if not seen.watch or self._resource not in ("", seen.resource):
            return None
        begun = self._age
        return Stream(lambda line: self._line(line) if begun == self._age else b"")

    def _line(self, line: bytes) -> bytes:
        if self.mode == "gone":
            return gone_event()
        return b"" if self.mode == "deaf" else line


def test_a_deletion_that_a_watch_lost_is_repaired_after_the_watch_lists_anew(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    watches = Watches("services")
    with way.fault(watches.fault):
        behind()
        serve(kubectl)
        serve(kubectl, "other")
        watches.mode = "deaf"
        kubectl.run("delete", "service", "tiny")
        kubectl.run("label", "service", "other", "seen=once")
        watches.mode = "gone"
        kubectl.run("label", "service", "other", "seen=twice", "--overwrite")
        eventually(lambda: kubectl.exists("service", "tiny"), 20)
        watches.mode = ""


@pytest.mark.full
def test_watches_that_lose_their_place_with_every_event_delay_nothing_for_good(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    watches = Watches()
    with way.fault(watches.fault):
        operator = behind()
        watches.mode = "gone"
        serve(kubectl)
    assert not critical(operator)


def test_a_watch_that_has_fallen_silent_is_begun_anew_and_misses_nothing(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    watches = Watches()
    with way.fault(watches.fault):
        behind(tuned={"watching.watches.INACTIVITY": 3.0})
        watches.silence()
        kubectl.apply(model("tiny"))
        until(kubectl, "tiny", "Ready", "True", "Ready", timeout=20)


def test_a_list_of_models_of_which_a_page_expires_ends_the_process_which_comes_back_with_nothing_lost(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    operator = behind(tuned={"edge.PAGE": 1, "kube.collection.PAGE": 1})
    for name in ("one", "two", "three"):
        kubectl.apply(model(name))
    for name in ("one", "two", "three"):
        until(kubectl, name, "Ready", "True", "Ready", timeout=30)
    uids = {one["metadata"]["uid"] for one in kubectl.items("deployments")}
    operator.stop()
    patch_spec(kubectl, "one", {"replicas": 2})
    kubectl.run("delete", "service", "three")
    with way.fault(times(1, further_page_of_models, EXPIRED)):
        operator.start()
        eventually(operator.has_ended, 30)
        assert "continue parameter is too old" in critical(operator)[-1]
    with way.fault(times(1, further_page_of_services, EXPIRED)):
        operator.start()  # as the kubelet does
        operator.wait_ready()
    eventually(lambda: kubectl.json("get", "deployment", "one")["spec"]["replicas"] == 2)
    eventually(lambda: kubectl.exists("service", "three"))
    serve(kubectl, "four")
    assert uids < {one["metadata"]["uid"] for one in kubectl.items("deployments")}
    assert len(kubectl.items("services", "app.kubernetes.io/managed-by=arriero")) == 4
    assert not operator.has_ended()


@pytest.mark.full
def test_a_silence_of_more_than_a_minute_is_noticed_by_the_operators_own_times(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    watches = Watches()
    with way.fault(watches.fault):
        operator = behind()
        watches.silence()
        kubectl.apply(model("tiny"))
        until(kubectl, "tiny", "Ready", "True", "Ready", timeout=100)
    assert not critical(operator)


@pytest.mark.full
def test_without_bookmarks_nothing_is_listed_anew_and_changes_are_seen(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    begun = {"list": 0, "watch": 0}

    def no_bookmarks(seen: Seen) -> Stream | None:
        if seen.method == "GET" and seen.resource == "services" and not seen.name:
            begun["watch" if seen.watch else "list"] += 1
        bookmark = b'{"type":"BOOKMARK"'
        return Stream(lambda line: b"" if line.startswith(bookmark) else line) if seen.watch else None

    with way.fault(no_bookmarks):
        behind(tuned={"watching.watches.INACTIVITY": 1.0})
        eventually(lambda: begun["watch"] >= 2, 20)
        lists, watched = begun["list"], begun["watch"]
        eventually(lambda: begun["watch"] >= watched + 4, 20)
        assert begun["list"] == lists
        serve(kubectl)


def test_a_crd_that_becomes_an_older_one_ends_the_process_and_names_what_it_lacks(
    behind: MakeBehind, way: Proxy, control_plane: ControlPlane
) -> None:
    def older(body: bytes) -> bytes:
        return body.replace(b'"sharedMemory"', b'"sharedThings"')

    operator = behind(tuned={"process.wiring.VIGIL": 1.0})
    with way.fault(lambda seen: Passed(change=older) if seen.path.startswith("/openapi/") else None):
        eventually(operator.has_ended, 40)
    assert "it lacks spec.sharedMemory: install or upgrade" in critical(operator)[-1]


def test_a_watch_that_sends_no_request_any_more_makes_the_process_not_live(behind: MakeBehind) -> None:
    operator = behind(tuned={"watching.watches.DEAF": 0.5})
    eventually(lambda: operator.ask("/livez")[0] == 503)
    assert "has sent no request for" in operator.ask("/livez")[1]


def test_a_request_is_read_as_the_api_server_reads_it() -> None:
    """Of the proxy itself."""
    body = json.dumps({}).encode()
    seen = Seen.of("PATCH", "/apis/arriero.dev/v1alpha1/namespaces/a/inferencemodels/m/status", {}, body)
    assert (seen.namespace, seen.resource, seen.name, seen.subresource) == ("a", "inferencemodels", "m", "status")
    assert seen.write
    assert Seen.of("GET", "/api/v1/pods", {"watch": "true"}, b"").resource == "pods"
    assert not Seen.of("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {}, body).write
