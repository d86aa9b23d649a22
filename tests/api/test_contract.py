"""The documents between operator and runtime survive the way there, and bad ones are refused by name."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arriero_api.contract import (
    AdapterState,
    AdapterStatus,
    ContractError,
    Failure,
    NameKind,
    Phase,
    Progress,
    Registration,
    Registrations,
    RuntimeStatus,
    Shutdown,
    registrations_hash,
)

NAMES = (Registration("tiny", NameKind.MODEL), Registration("chat", NameKind.ALIAS))
FAILURE = Failure(
    "ModelNotFound", "no repository org/tiny", "Correct spec.model.uri.", Phase.RESOLVING, {"status": 404}
)


def test_registrations_read_back_as_they_were_written() -> None:
    wanted = Registrations(NAMES, commit="abc")
    assert Registrations.from_json(wanted.to_json()) == wanted


SUPPORT = Registration("support", NameKind.ADAPTER, "hf://org/support-lora", "v2")


def test_adapters_stand_apart_from_the_names_and_read_back() -> None:
    wanted = Registrations((*NAMES, SUPPORT), commit="abc")
    body = json.loads(wanted.to_json())
    assert [one["name"] for one in body["names"]] == ["tiny", "chat"]
    assert body["adapters"] == [{"name": "support", "uri": "hf://org/support-lora", "revision": "v2"}]
    assert Registrations.from_json(wanted.to_json()) == wanted
    assert wanted.adapters == (SUPPORT,)


def test_without_adapters_the_text_is_what_it_was_before_there_were_any() -> None:
    assert Registrations(NAMES, commit="abc").hash == "83302dd18a78ccab"


def test_each_change_of_the_file_has_a_hash_of_its_own_and_reads_back() -> None:
    wanted = Registrations(NAMES, commit="abc", sequence=7)
    assert Registrations.from_json(wanted.to_json()) == wanted
    assert wanted.hash != Registrations(NAMES, commit="abc", sequence=8).hash
    with pytest.raises(ContractError, match="sequence"):
        Registrations.from_json(wanted.to_json().replace("7", '"x"'))


def test_a_status_of_an_adapter_is_of_one_entry() -> None:
    status = AdapterStatus("support", "hf://org/support-lora", "v2", AdapterState.REGISTERED)
    assert status.of(SUPPORT)
    assert not status.of(Registration("support", NameKind.ADAPTER, "hf://org/support-lora", "v3"))


def test_the_hash_is_that_of_the_text_on_disk() -> None:
    wanted = Registrations(NAMES)
    assert wanted.hash == registrations_hash(wanted.to_json())
    assert wanted.hash != Registrations(NAMES, commit="abc").hash


def test_a_status_reads_back_as_it_was_written() -> None:
    status = RuntimeStatus(
        phase=Phase.DOWNLOADING,
        progress=Progress(42, "110 of 257 MiB"),
        commit="abc",
        registrations="0123",
        names=("tiny",),
        adapters=(
            AdapterStatus("a", "hf://org/a", "", AdapterState.REGISTERED),
            AdapterStatus("b", "hf://org/b", "v1", AdapterState.FAILED, FAILURE),
        ),
        effective={"maxModelLen": 1024},
        requests_in_flight=3,
        since_seconds=2,
        failure=FAILURE,
    )
    assert RuntimeStatus.from_json(status.to_json()) == status


DETAILS = st.dictionaries(st.text(max_size=300), st.text(max_size=6000) | st.integers(), max_size=30)


@given(message=st.text(max_size=6000), remedy=st.text(max_size=6000), details=DETAILS)
def test_a_failure_fits_the_termination_message_whatever_it_says(
    message: str, remedy: str, details: dict[str, str | int]
) -> None:
    text = Failure("EngineFailed", message, remedy, details=details).to_json(limit=4096)
    assert len(text.encode()) <= 4096
    assert Failure.from_json(text).reason == "EngineFailed"


def test_a_long_detail_is_cut_before_the_message_and_the_short_ones_stay() -> None:
    found = Failure("EngineFailed", "m" * 3000, "Mend it.", details={"file": "f" * 9000, "status": 404})
    read = Failure.from_json(found.to_json(limit=4096))
    assert (read.message, read.details["status"]) == (found.message, 404)
    assert str(read.details["file"]).startswith("fff")


def test_details_that_are_too_many_go_and_the_rest_stays() -> None:
    found = Failure("EngineFailed", "short", "Mend it.", details={f"key {n}": "x" * 150 for n in range(100)})
    read = Failure.from_json(found.to_json(limit=4096))
    assert read == Failure("EngineFailed", "short", "Mend it.")


def test_a_short_failure_is_not_cut() -> None:
    assert Failure.from_json(FAILURE.to_json(limit=4096)) == FAILURE


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("[]", "must be a JSON object"),
        ('{"names": []}', "schemaVersion None"),
        ('{"schemaVersion": 99, "names": []}', "schemaVersion 99"),
        ('{"schemaVersion": 1, "names": []}', "names must be a list with at least one name"),
        ('{"schemaVersion": 1, "names": [{"name": "x", "kind": "Nonsense"}]}', "Nonsense"),
        (
            '{"schemaVersion": 1, "names": [{"name": "x", "kind": "Model"}], "adapters": [{"name": "a"}]}',
            "adapters: .*uri",
        ),
    ],
)
def test_registrations_that_cannot_be_used_are_refused_with_the_reason(text: str, says: str) -> None:
    with pytest.raises(ContractError, match=says):
        Registrations.from_json(text)


DEEP = '{"schemaVersion": 1, "details": ' + "[" * 100_000
HUGE = '{"schemaVersion": 1, "phase": "Loading", "sinceSeconds": 1e999, "shutdown": {"completed": 1e999, "aborted": 0}}'


@pytest.mark.parametrize(
    "read", [Registrations.from_json, RuntimeStatus.from_json, Failure.from_json, Shutdown.from_json]
)
@pytest.mark.parametrize("text", [DEEP, HUGE], ids=["too deep to be read", "larger than any number"])
def test_no_text_of_others_does_more_than_to_be_refused(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(ContractError):
        read(text)


def test_keys_of_a_newer_writer_are_accepted() -> None:
    body = json.loads(Registrations(NAMES).to_json()) | {"fromTheFuture": 1}
    assert Registrations.from_json(json.dumps(body)).names == NAMES


def test_a_shutdown_is_read_as_written_and_is_no_failure() -> None:
    text = Shutdown(3, 1).to_json()
    assert Shutdown.from_json(text) == Shutdown(3, 1)
    with pytest.raises(ContractError):
        Failure.from_json(text)


@pytest.mark.parametrize("text", ["", "{}", '{"schemaVersion": 1}', '{"schemaVersion": 1, "shutdown": {}}', "[1]"])
def test_what_is_no_shutdown_is_refused(text: str) -> None:
    with pytest.raises(ContractError):
        Shutdown.from_json(text)
