"""The control port answers whatever the server does."""

import contextlib
import os
import socket
from pathlib import Path

from arriero_api.contract import Phase
from arriero_runtime.supervisor.control import CONNECTIONS
from tests.runtime.supervisor.conftest import Starter
from tests.runtime.supervisor.harness import until


def test_livez_costs_so_little_that_it_answers_within_a_second_of_the_start(start: Starter) -> None:
    supervised = start("loads_for_ever")
    until(lambda: supervised.get("/livez") == (200, "ok\n"), "livez")
    # In processor time, as the machine may be busy; python -m tests.bench.control_port measures the time.
    fields = Path(f"/proc/{supervised.process.pid}/stat").read_text().rpartition(")")[2].split()
    assert sum(int(ticks) for ticks in fields[11:13]) / os.sysconf("SC_CLK_TCK") < 0.5


def test_a_server_that_loads_is_alive_and_not_ready_and_says_how_far_it_is(start: Starter) -> None:
    supervised = start("loads_for_ever")
    until(lambda: (status := supervised.status()) and status.progress.percent == 40, "the progress")
    assert supervised.get("/livez")[0] == 200
    assert supervised.get("/readyz") == (503, "Loading\n")


def test_a_ready_server_is_ready_and_its_status_and_metrics_are_told(start: Starter) -> None:
    supervised = start("drains")
    supervised.until_ready()
    status = supervised.status()
    assert status is not None
    assert (status.phase, status.names, status.commit) == (Phase.READY, ("tiny",), "c0ffee")
    until(lambda: "fake_total 7" in supervised.get("/metrics")[1], "the server's snapshot")
    metrics = supervised.get("/metrics")[1]
    assert 'arriero_runtime_phase{phase="Ready"} 1.0' in metrics
    assert "arriero_runtime_ready 1.0" in metrics
    assert "# TYPE arriero_runtime_tokens_total counter" in metrics


def test_an_unknown_path_is_404_and_names_the_known_ones(start: Starter) -> None:
    supervised = start("loads_for_ever")
    until(lambda: supervised.get("/livez")[0], "livez")
    assert supervised.get("/nope") == (404, "one of: /livez /readyz /status /metrics\n")


def test_clients_that_hold_connections_open_do_not_keep_the_probes_out(start: Starter) -> None:
    supervised = start("loads_for_ever")
    until(lambda: supervised.get("/livez")[0], "livez")
    with contextlib.ExitStack() as held:
        for _ in range(CONNECTIONS * 2):
            held.enter_context(socket.create_connection(("127.0.0.1", supervised.port), timeout=5))
        assert supervised.get("/livez") == (200, "ok\n")


def test_the_supervisor_stays_small(start: Starter) -> None:
    supervised = start("drains")
    supervised.until_ready()
    supervised.get("/metrics")
    status = Path(f"/proc/{supervised.process.pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
    assert resident <= 60 * 1024
