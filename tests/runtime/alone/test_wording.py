"""Where clients register models there is no resource: messages name arguments, variables and what was registered."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import arriero_runtime
from arriero_api.contract import Phase
from arriero_api.owned_env import OWNED_VARIABLES
from arriero_api.owned_flags import LORA_ONLY, OWNED_FLAGS, WRITTEN
from arriero_api.reasons import REASONS
from arriero_runtime import wording
from arriero_runtime.diagnosis import Diagnosis
from arriero_runtime.diagnosis.kinds import KINDS
from arriero_runtime.engine.vllm.arguments import refuse_owned
from arriero_runtime.failing import StartError, failure
from arriero_runtime.native.models import Models
from arriero_runtime.server import answers
from arriero_runtime.server.fields import INSTEAD, UNLESS
from arriero_runtime.sources import space
from tests.hub import Hub
from tests.runtime.alone.harness import alone, message_of
from tests.runtime.server.harness import error_of
from tests.runtime.sources.support import model

SOURCES = sorted(Path(arriero_runtime.__file__).parent.rglob("*.py"))
OF_ADAPTERS = re.compile(r"Adapter|RegistrationsInvalid|Registr")
"""What only a server with a file of names tells."""
OF_A_CLUSTER = re.compile(
    r"\bspec\b|kubectl|\bpods?\b|\bSecret|\bchart\b|profile|InferenceModel|\bvolume|container|[a-z]\.secretName"
)


@pytest.fixture
def without_resource() -> Iterator[None]:
    wording.choose(alone=True)
    yield
    wording.choose(alone=False)


def told_reasons() -> list[str]:
    """Of the catalogue, those that the runtime's code names and that are told where clients register models."""
    named = {name for file in SOURCES for name in re.findall(r'"([A-Z]\w+)"', file.read_text())}
    return sorted(
        name for name, reason in REASONS.items() if name in named and reason.remedy and not OF_ADAPTERS.match(name)
    )


@pytest.mark.parametrize("name", told_reasons())
def test_no_remedy_is_for_somebody_with_a_resource(name: str, without_resource: None) -> None:
    assert not OF_A_CLUSTER.search(wording.remedy(name)), wording.remedy(name)


def test_reasons_of_every_kind_are_among_them() -> None:
    assert {"CacheTooSmall", "InvalidArguments", "Unauthorized", "OOMKilled", "EngineHung"} <= {*told_reasons()}
    assert {*wording.ALONE} <= {*told_reasons()}


def texts() -> list[str]:
    """Every message of the runtime that has a field in it, as far as it stands in one place."""
    kinds = [words for kind in KINDS for words in (kind.message, kind.remedy)]
    needs = [needs for _, needs in UNLESS.values()]
    instead = [words for names in INSTEAD.values() for words in names.values()]
    advice = [words for name, words in OWNED_FLAGS.items() if name not in WRITTEN]
    bounds = [answers.timed_out(1).message, answers.cut_off().message]
    return [*kinds, *needs, *instead, *advice, *OWNED_VARIABLES.values(), *bounds]


def test_no_message_names_a_field_of_a_resource(without_resource: None) -> None:
    assert sum("spec." in words for words in texts()) > 20
    left = {field for words in texts() for field in re.findall(r"spec\.\S+", wording.fit(words))}
    assert not left


def test_every_field_that_the_runtimes_code_names_has_another_word(without_resource: None) -> None:
    apart = {Path(wording.__file__), Path(str(Models.remove.__code__.co_filename))}
    code = "\n".join(file.read_text() for file in SOURCES if file not in apart)
    fields = {*re.findall(r"spec\.[a-zA-Z.]*[a-zA-Z]", code)}
    assert len(fields) > 10
    assert not [field for field in fields if "spec." in wording.fit(f"x {field}: y")]


def test_with_a_resource_all_stays_as_it_is() -> None:
    for words in texts():
        assert wording.fit(words) == words
    for name in told_reasons():
        assert wording.remedy(name) == REASONS[name].remedy


def test_the_log_is_explained_in_the_same_words(without_resource: None) -> None:
    diagnosis = Diagnosis()
    diagnosis.feed("ValueError: The repository x contains custom code which must be executed to load the model.")
    found = diagnosis.failure()
    assert found is not None
    assert found.remedy.startswith("Set --trust-remote-code where")


def test_a_flag_that_a_resource_would_have_a_field_for_may_stand_once(without_resource: None) -> None:
    refuse_owned(["--max-model-len=512", "--dtype", "float32"])
    with pytest.raises(StartError) as twice:
        refuse_owned(["--max-model-len=512", "--max-model-len=1024"])
    assert "--max-model-len cannot be set: it is there twice" in str(twice.value)
    with pytest.raises(StartError) as elsewhere:
        refuse_owned(["--tool-call-parser=hermes", "--port=80"])
    assert "use --tool-call-parser in front of --" in str(elsewhere.value)
    assert "Arriero sets it itself" in str(elsewhere.value)
    assert elsewhere.value.failure.remedy == "Correct the named argument; vLLM's stand behind --."
    assert not LORA_ONLY & WRITTEN


async def test_a_model_that_does_not_fit_is_refused_with_the_variable_and_the_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hub.start() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv(space.LIMIT_VARIABLE, str(32 * 1024 * 1024))
        hub.add_repo("team/model", model(tmp_path / "repo"))
        async with alone(tmp_path) as one:
            refused = await one.register("mine", "team/model")
            assert (refused.status_code, error_of(refused)["type"]) == (503, "CacheTooSmall")
            assert f"its limit ({space.LIMIT_VARIABLE}) is 32 MiB" in message_of(refused)
            assert f"Raise {space.LIMIT_VARIABLE} where it is set" in message_of(refused)
            assert "--cache-dir" in message_of(refused)
            assert "spec." not in refused.text
            told = one.server.serving.life.status.failure
            assert told is not None
            assert told.remedy == wording.ALONE["CacheTooSmall"]


def test_under_the_operator_the_same_failure_names_the_field() -> None:
    assert "spec.cache.emptyDir.sizeLimit" in failure("CacheTooSmall", "x", Phase.DOWNLOADING).remedy
