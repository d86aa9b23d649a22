"""What the supervisor tells of adapters: without secrets on /status, as numbers on /metrics."""

from arriero_api.contract import AdapterState, AdapterStatus, Failure, Phase, RuntimeStatus
from arriero_runtime.messages import Status
from arriero_runtime.supervisor.log import Copy
from arriero_runtime.supervisor.metrics import CATALOGUE, Sources
from arriero_runtime.supervisor.state import State

SECRET = "s3cr3t-v4lue"
REFUSED = Failure("AdapterFetchFailed", f"https://u:{SECRET}@hub does not answer", f"use {SECRET}", Phase.READY)


def state() -> State:
    """After the server has told of one adapter that is served and two that have failed."""
    found = State(fresh=10, stuck=30, secrets=frozenset({SECRET}))
    served = AdapterStatus("a", "hf://org/a", "", AdapterState.REGISTERED)
    failed = [AdapterStatus(name, "hf://org/b", "", AdapterState.FAILED, REFUSED) for name in "bc"]
    found.hear(Status(RuntimeStatus(Phase.READY, adapters=(served, *failed))))
    return found


def test_the_failure_of_an_adapter_leaves_without_secrets() -> None:
    text = state().report().to_json()
    assert "does not answer" in text
    assert SECRET not in text


def test_adapters_are_counted_by_state() -> None:
    silent = Copy("silent", 1, lambda chunk: None)
    sources = Sources(state(), silent, silent)
    (series,) = [one for one in CATALOGUE if one.name == "arriero_runtime_adapters"]
    assert dict(series.read(sources)) == {("Registering",): 0, ("Registered",): 1, ("Failed",): 2}
