"""The life cycle, the file of names, the environment, owned flags."""

import argparse
import logging
from pathlib import Path

import pytest

from arriero_api import owned_env
from arriero_api.contract import ContractError, Phase, Progress, RuntimeStatus
from arriero_api.spec.rollout import Rollout
from arriero_runtime import cli, registrations
from arriero_runtime.engine.vllm import VllmLoader, Wishes, arguments
from arriero_runtime.failing import StartError, failure
from arriero_runtime.lifecycle import LifeCycle, TransitionError
from arriero_runtime.server import environment, log
from tests.runtime.server.harness import write_names


def test_the_life_cycle_knows_no_way_back() -> None:
    life = LifeCycle(lambda status: None)
    life.enter(Phase.RESOLVING)
    life.enter(Phase.LOADING)
    with pytest.raises(TransitionError):
        life.enter(Phase.DOWNLOADING)


def test_progress_is_of_the_phase_and_told_only_when_it_is_new() -> None:
    told: list[RuntimeStatus] = []
    life = LifeCycle(told.append)
    life.enter(Phase.RESOLVING)
    life.enter(Phase.DOWNLOADING)
    life.progress("1 of 2 MiB", 50)
    life.progress("1 of 2 MiB", 50)
    life.enter(Phase.LOADING)
    assert [status.progress for status in told] == [Progress(), Progress(), Progress(50, "1 of 2 MiB"), Progress()]


def test_the_first_failure_counts() -> None:
    life = LifeCycle(lambda status: None)
    life.fail(failure("ModelNotFound", "first", Phase.RESOLVING))
    life.fail(failure("EngineDied", "second", Phase.READY))
    assert life.status.failure is not None
    assert life.status.failure.message == "first"


def test_the_models_own_name_comes_first_wherever_it_stands_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_text('{"schemaVersion": 1, "names": [{"name": "b", "kind": "Alias"}, {"name": "a", "kind": "Model"}]}')
    assert registrations.read(file).names == ("a", "b")


def test_a_missing_file_is_a_contract_error(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"none\.json"):
        registrations.read(tmp_path / "none.json")


def test_the_hash_is_that_of_the_text_on_disk(tmp_path: Path) -> None:
    written = write_names(tmp_path / "r.json", "a", "b", commit="c" * 40)
    found = registrations.read(tmp_path / "r.json")
    assert (found.hash, found.registrations) == (written.hash, written)


def test_everything_that_is_written_goes_below_the_cache_folder(tmp_path: Path) -> None:
    environ = {"HOME": "/nonexistent", "VLLM_PORT": "tcp://10.0.0.1:80", "HF_ENDPOINT": "", "HF_TOKEN": "t"}
    environment.prepare(environ, tmp_path)
    for name in ("HOME", "HF_HOME", "VLLM_CACHE_ROOT", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        assert Path(environ[name]).is_relative_to(tmp_path)
        assert Path(environ[name]).is_dir()
    assert "VLLM_PORT" not in environ
    assert "HF_ENDPOINT" not in environ
    assert environ["HF_TOKEN"] == "t"
    assert environ["VLLM_NO_USAGE_STATS"] == "1"


def test_with_a_cache_that_other_pods_use_the_engine_writes_in_a_folder_of_its_own(tmp_path: Path) -> None:
    line = ["serve", "--model=hf://a/b", f"--cache-dir={tmp_path / 'cache'}", f"--state-dir={tmp_path / 'state'}"]
    assert environment.own_folder(cli.parse(line)) == tmp_path / "cache"
    own = environment.own_folder(cli.parse([*line, "--shared-cache"]))
    environ: dict[str, str] = {}
    environment.prepare(environ, own)
    written = [value for value in environ.values() if value.startswith("/")]
    assert len(written) == 7
    assert all(Path(value).is_relative_to(tmp_path / "state") for value in written)


def test_a_load_may_take_as_long_as_the_longest_deadline_of_a_resource(tmp_path: Path) -> None:
    """vLLM itself gives up after 600 s."""
    longest = Rollout.model_json_schema()["properties"]["progressDeadlineSeconds"]["maximum"]
    environ: dict[str, str] = {}
    environment.prepare(environ, tmp_path)
    assert int(environ["VLLM_ENGINE_READY_TIMEOUT_S"]) == longest
    assert longest * 1000 < 2**31, "vLLM hands it to poll(2), in milliseconds"
    own = {"VLLM_ENGINE_READY_TIMEOUT_S": "900"}
    environment.prepare(own, tmp_path)
    assert own["VLLM_ENGINE_READY_TIMEOUT_S"] == "900"


def test_a_user_without_a_name_gets_one(tmp_path: Path) -> None:
    nameless: dict[str, str] = {}
    environment.prepare(nameless, tmp_path)
    assert nameless["USER"] == "arriero"
    named = {"USER": "own"}
    environment.prepare(named, tmp_path)
    assert named["USER"] == "own"


def test_a_cache_folder_that_cannot_be_written_is_named_before_anything_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    line = ["serve", "--model=hf://a/b", f"--cache-dir={tmp_path / 'file' / 'cache'}"]
    found = environment.unusable(cli.parse(line))
    assert found is not None
    assert found.reason == "CacheUnusable"
    assert f"{tmp_path / 'file' / 'cache'} cannot be written: Not a directory (user " in found.message
    assert environment.unusable(cli.parse([*line[:2], f"--cache-dir={tmp_path}"])) is None


def test_a_variable_that_is_replaced_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    environ = {"HF_HOME": "/elsewhere", "DO_NOT_TRACK": "1"}
    environment.prepare(environ, tmp_path)
    assert "HF_HOME of the environment is not used" in caplog.text
    assert "DO_NOT_TRACK" not in caplog.text


def test_every_variable_that_the_runtime_sets_to_its_own_value_is_owned(tmp_path: Path) -> None:
    before = dict.fromkeys(owned_env.OWNED_VARIABLES, "theirs") | dict.fromkeys(("HF_TOKEN", "HF_HUB_DISABLE_XET"), "0")
    environ = dict(before)
    environment.prepare(environ, tmp_path)
    changed = {name for name in environ if name in before and environ[name] != before[name]}
    assert changed | {"PYTHONUNBUFFERED"} == set(owned_env.REPLACED)


def test_the_servers_own_lines_stay_when_the_engine_raises_the_level_of_the_root(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logging.getLogger("arriero_runtime"), "level", logging.NOTSET)
    monkeypatch.setattr(logging.getLogger(), "level", logging.WARNING)
    log.begin()
    logging.getLogger().setLevel(logging.ERROR)
    assert logging.getLogger("arriero_runtime.server.drain").isEnabledFor(logging.INFO)


async def test_variables_that_arriero_owns_are_refused_by_name_but_for_those_of_a_service_or_an_image() -> None:
    environ = {"VLLM_API_KEY": "k", "VLLM_PORT": "tcp://10.0.0.1:80", "HF_HOME": "/image", "HF_TOKEN": "t"}
    refused = environment.refused(environ)
    assert [words.split()[0] for words in refused] == ["VLLM_API_KEY"]
    with pytest.raises(StartError, match=r"VLLM_API_KEY cannot be set: use spec\.serving\.apiKey"):
        await VllmLoader((), refused).check_arguments()


@pytest.mark.parametrize(
    "flags",
    [
        ["--served-model-name", "x"],
        ["--port=1"],
        ["--api_key", "x"],
        ["--max-model-len", "10", "--max-model-len", "20"],
        ["--disable-log-stats"],
        ["--lora-dtype=auto"],
        ["--trust-remote-code"],
        ["--tool-call-parser", "hermes"],
        ["--tensor-parallel-size=2", "-tp", "2"],
    ],
)
def test_flags_that_arriero_owns_are_refused_by_name(flags: list[str]) -> None:
    with pytest.raises(StartError) as caught:
        arguments.refuse_owned(flags)
    found = caught.value.failure
    assert found.reason == "InvalidArguments"
    assert flags[0].split("=")[0].replace("_", "-") in found.message


def test_flags_from_typed_fields_are_taken_once() -> None:
    arguments.refuse_owned(["--max-model-len", "10", "--dtype", "auto", "--enforce-eager", "--max-num-seqs", "4"])
    arguments.refuse_owned(["--tensor-parallel-size=2", "--quantization=fp8", "--chat-template=/etc/t.jinja"])


def test_parsers_and_remote_code_reach_the_engine_only_where_they_are_wished() -> None:
    assert Wishes().flags == []
    assert Wishes(tool_call_parser="none", reasoning_parser="none").flags == []
    wished = Wishes(trust_remote_code=True, tool_call_parser="hermes", reasoning_parser="qwen3").flags
    assert wished == [
        *("--trust-remote-code", "--enable-auto-tool-choice"),
        *("--tool-call-parser=hermes", "--reasoning-parser=qwen3"),
    ]


def test_a_cap_of_tokens_joins_the_generation_settings_that_the_flags_have() -> None:
    args = argparse.Namespace(override_generation_config={"temperature": 0.5})
    Wishes(max_tokens=64).cap(args)
    assert args.override_generation_config == {"temperature": 0.5, "max_new_tokens": 64}
    untouched = argparse.Namespace(override_generation_config={})
    Wishes().cap(untouched)
    assert untouched.override_generation_config == {}


def test_a_cap_among_the_generation_settings_is_refused_with_the_field_to_use() -> None:
    args = argparse.Namespace(override_generation_config={"max_new_tokens": 5})
    with pytest.raises(StartError, match=r"use spec\.serving\.maxTokens"):
        Wishes().cap(args)
