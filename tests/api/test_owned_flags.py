"""Flags that Arriero sets itself are found in every spelling that the engine's parser knows."""

import json
import re
from pathlib import Path

import pytest

from arriero_api.crd import definition
from arriero_api.owned_flags import LORA_ONLY, OWNED_FLAGS, SHORT, WRITTEN, flag_names, refused


@pytest.mark.parametrize(
    "args",
    [
        ["--max-model-len", "4096"],
        ["--max-model-len=4096"],
        ["--max_model_len=4096"],
        ["--kv-cache-dtype", "fp8", "--MAX-MODEL-LEN=1"],
    ],
)
def test_every_spelling_of_an_owned_flag_is_refused_with_the_field_to_use(args: list[str]) -> None:
    assert refused(args) == [("--max-model-len", "use spec.engine.maxModelLen")]


def test_the_negated_form_of_an_owned_switch_is_refused_too() -> None:
    assert refused(["--no-enforce-eager"]) == [("--enforce-eager", "use spec.engine.enforceEager")]


@pytest.mark.parametrize(
    ("args", "field"),
    [
        (["-tp", "2"], "spec.engine.tensorParallelSize"),
        (["-pp=2"], "spec.engine.pipelineParallelSize"),
        (["--data_parallel_size", "2"], "spec.engine.dataParallelSize"),
        (["-qfp8"], "spec.engine.quantization"),
        (["--gpu-memory-utilization=0.5"], "spec.engine.gpuMemoryUtilization"),
        (["--TOOL_CALL_PARSER=hermes"], "spec.engine.toolCallParser"),
        (["--no-enable-auto-tool-choice"], "spec.engine.toolCallParser"),
        (["--reasoning-parser", "qwen3"], "spec.engine.reasoningParser"),
        (["--chat-template=/x"], "spec.engine.chatTemplate"),
        (["--trust_remote_code"], "spec.model.trustRemoteCode"),
        (["--api-key=x"], "spec.serving.apiKey"),
    ],
    ids=str,
)
def test_a_flag_of_a_typed_field_is_refused_with_the_field_in_any_form(args: list[str], field: str) -> None:
    ((_, advice),) = refused(args)
    assert advice == f"use {field}"


def test_every_field_that_a_flag_is_refused_for_is_one_of_the_resource() -> None:
    schema = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for advice in OWNED_FLAGS.values():
        for path in re.findall(r"\bspec(?:\.\w+)+", advice):
            node = schema
            for part in path.split("."):
                node = node["properties"][part]


def test_the_operator_writes_owned_flags_only() -> None:
    assert set(OWNED_FLAGS) >= WRITTEN


def test_flags_of_the_engine_alone_pass() -> None:
    assert refused(["--kv-cache-dtype=fp8", "-dcp", "2", "--seed", "7", "model"]) == []


def test_values_that_look_like_names_of_owned_flags_pass() -> None:
    assert refused(["--kv-cache-dtype", "dtype"]) == []


def test_every_owned_flag_tells_what_to_do() -> None:
    assert all(len(remedy) > 10 for remedy in OWNED_FLAGS.values())


VLLM = json.loads(Path(__file__).with_name("vllm_flags.json").read_text())
"""Every flag of `vllm serve` as its own parser has them, with the version of vLLM."""
WORKING = frozenset(
    {
        "aggregate-engine-logging",
        "enable-log-requests",
        "fail-on-environ-validation",
        "gdn-prefill-backend",
        "kda-decode-backend",
        "kda-prefill-backend",
        "chat-template-content-format",
        "default-chat-template-kwargs",
        "enable-force-include-usage",
        "enable-log-deltas",
        "enable-log-outputs",
        "enable-per-request-metrics",
        "enable-prompt-tokens-details",
        "enable-request-id-headers",
        "exclude-tools-when-tool-choice-none",
        "fingerprint-mode",
        "fingerprint-value",
        "log-error-stack",
        "max-log-len",
        "response-role",
        "return-tokens-as-token-ids",
        "sse-keep-alive-interval",
        "tool-parser-plugin",
        "tool-server",
        "tool-strict-level",
        "trust-request-chat-template",
        "trust-request-mm-kwargs",
    }
)
"""Flags of vLLM's front end, and those of no group, that do what they say here too."""


def long_name(spellings: list[str]) -> str:
    """Of a flag, in kebab case without dashes."""
    return next(spelling for spelling in spellings if spelling.startswith("--"))[2:].replace("_", "-")


def with_value(spelling: str) -> list[list[str]]:
    glued = [[f"{spelling}2"]] if len(spelling) == 2 else []
    return [[spelling, "2"], [f"{spelling}=2"], *glued]


def test_the_recorded_flags_are_of_the_version_that_the_runtime_uses() -> None:
    pinned = Path(__file__).parents[2].joinpath("pyproject.toml").read_text()
    assert f"vllm=={VLLM['vllm']}" in pinned


@pytest.mark.parametrize("flag", VLLM["flags"], ids=lambda flag: long_name(flag["spellings"]))
def test_every_spelling_of_a_flag_of_the_engine_is_read_as_that_flag(flag: dict[str, list[str]]) -> None:
    name = long_name(flag["spellings"])
    other_long = {spelling[2:].removeprefix("no-") for spelling in flag["spellings"] if spelling.startswith("--")}
    for spelling in flag["spellings"]:
        for args in with_value(spelling):
            assert flag_names(args)[0] in {name, *other_long}, args


def test_every_owned_flag_is_one_of_the_engines() -> None:
    known = {long_name(flag["spellings"]) for flag in VLLM["flags"]} | {"model-tag"}
    assert set(OWNED_FLAGS) | LORA_ONLY <= known
    assert set(SHORT) == {s for flag in VLLM["flags"] for s in flag["spellings"] if not s.startswith("--")}


def test_every_flag_of_the_engines_front_end_works_here_or_is_refused() -> None:
    front = {long_name(flag["spellings"]) for flag in VLLM["flags"] if flag["group"] in ("Frontend", "options")}
    assert front - set(OWNED_FLAGS) == WORKING


def test_every_flag_for_adapters_is_refused_or_needs_them() -> None:
    adapters = {long_name(flag["spellings"]) for flag in VLLM["flags"] if flag["group"] == "LoRAConfig"}
    assert adapters <= set(OWNED_FLAGS) | LORA_ONLY | {"max-lora-rank", "max-loras", "max-cpu-loras"}
