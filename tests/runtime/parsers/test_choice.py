"""Which parsers a model gets."""

import argparse
import json
import subprocess
from pathlib import Path

import pytest

from arriero_runtime.engine.vllm import parsers
from arriero_runtime.engine.vllm.wishes import Wishes
from arriero_runtime.parsers.choice import Parsers, chosen
from arriero_runtime.parsers.table import REASONING, TOOLS, Row
from tests.cluster.images import environment

VLLM = json.loads(Path(__file__).with_name("vllm_parsers.json").read_text())
AUTO = Parsers()
QWEN = 'tools {"name": <function-name>, "arguments": <args-json-object>} <think>'
LLAMA_3 = 'tools {"name": function name, "parameters": dictionary of argument name and its value}'
MODELS = [
    ("Qwen2ForCausalLM", "hf://Qwen/Qwen2.5-0.5B-Instruct", QWEN, "hermes", ""),
    ("Qwen3ForCausalLM", "hf://Qwen/Qwen3-8B", QWEN, "hermes", "qwen3"),
    ("Qwen3MoeForCausalLM", "hf://Qwen/Qwen3-30B-A3B-Instruct-2507", QWEN, "hermes", ""),
    ("Qwen3MoeForCausalLM", "hf://Qwen/Qwen3-Coder-30B-A3B-Instruct", "tools <function=x>", "qwen3_coder", ""),
    ("LlamaForCausalLM", "hf://meta-llama/Llama-3.1-8B-Instruct", LLAMA_3, "llama3_json", ""),
    ("LlamaForCausalLM", "hf://NousResearch/Hermes-3-Llama-3.1-8B", "tools <args-dict>", "hermes", ""),
    ("LlamaForCausalLM", "hf://HuggingFaceTB/SmolLM2-135M-Instruct", "<|im_start|>", "", ""),
    ("LlamaForCausalLM", "hf://deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "<think> </think>", "", "deepseek_r1"),
    ("Llama4ForConditionalGeneration", "file:///models/scout", "tools [func_name1(a=1)]", "llama4_pythonic", ""),
    ("MistralForCausalLM", "hf://mistralai/Mistral-7B-Instruct-v0.3", "tools [TOOL_CALLS]", "mistral", ""),
    ("MistralForCausalLM", "hf://mistralai/Mistral-7B-Instruct-v0.1", "[INST]", "", ""),
    ("DeepseekV3ForCausalLM", "hf://moonshotai/Kimi-K2-Instruct", "tools <|tool_calls_section_begin|>", "kimi_k2", ""),
    ("GptOssForCausalLM", "hf://openai/gpt-oss-20b", "", "openai", "openai_gptoss"),
    ("Glm4MoeForCausalLM", "hf://zai-org/GLM-4.5", "tools <arg_key> <think>", "glm45", "glm45"),
    ("OPTForCausalLM", "hf://facebook/opt-125m", QWEN, "", ""),
]  # fmt: skip


def folder_of(parent: Path, architecture: str, template: str) -> Path:
    (parent / "config.json").write_text(json.dumps({"architectures": [architecture]}))
    (parent / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    return parent


@pytest.mark.parametrize(("architecture", "uri", "template", "tools", "reasoning"), MODELS)
def test_a_model_gets_the_parsers_of_its_form_of_calls(
    tmp_path: Path, architecture: str, uri: str, template: str, tools: str, reasoning: str
) -> None:
    folder = folder_of(tmp_path, architecture, template)
    assert chosen(AUTO, folder, uri) == Parsers(tools, reasoning)


def test_the_uri_tells_the_name_of_a_model_whose_folder_does_not(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "Qwen3ForCausalLM", QWEN)
    for uri, parser in (("oci://registry/qwen3-4b-instruct:1", ""), ("oci://registry/qwen3-4b:1", "qwen3")):
        args = argparse.Namespace(chat_template=None, structured_outputs_config=None)
        parsers.fit(args, Wishes(), folder, uri)
        assert (args.tool_call_parser, args.reasoning_parser) == ("hermes", parser)


def test_a_template_that_knows_no_tools_gets_no_parser_for_them(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "Qwen2ForCausalLM", "<args-json-object>")
    assert chosen(AUTO, folder, "").tools == ""


def test_what_the_resource_names_counts_more_and_none_is_none(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "Qwen3ForCausalLM", QWEN)
    assert chosen(Parsers("pythonic", "granite"), folder, "") == Parsers("pythonic", "granite")
    assert chosen(Parsers("none", "none"), folder, "") == Parsers()
    assert chosen(Parsers("none"), folder, "") == Parsers("", "qwen3")


def test_another_chat_template_in_its_place_decides(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "LlamaForCausalLM", LLAMA_3)
    assert chosen(AUTO, folder, "", "no calls").tools == ""
    assert chosen(AUTO, folder, "", QWEN).tools == "hermes"


def test_templates_are_found_wherever_models_have_them(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["Qwen2ForCausalLM"]}))
    assert chosen(AUTO, tmp_path, "").tools == ""
    several = [{"name": "default", "template": "x"}, {"name": "tool_use", "template": QWEN}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": several}))
    assert chosen(AUTO, tmp_path, "").tools == "hermes"
    (tmp_path / "tokenizer_config.json").unlink()
    (tmp_path / "chat_template.jinja").write_text(QWEN)
    assert chosen(AUTO, tmp_path, "").tools == "hermes"
    folder_of(tmp_path, "MistralForCausalLM", "")
    (tmp_path / "chat_template.jinja").unlink()
    (tmp_path / "tekken.json").write_text("{}")
    assert chosen(AUTO, tmp_path, "").tools == "mistral"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"architectures": 5}', "null"])
def test_a_folder_that_tells_nothing_gets_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert chosen(AUTO, tmp_path, "hf://Qwen/Qwen3-8B") == Parsers()
    assert chosen(AUTO, tmp_path / "absent", "") == Parsers()


@pytest.mark.parametrize("row", [*TOOLS, *REASONING], ids=lambda row: row.parser)
def test_every_parser_and_architecture_of_the_table_is_vllms(row: Row) -> None:
    assert row.parser in VLLM["tools" if row in TOOLS else "reasoning"]
    assert set(row.architectures) <= set(VLLM["architectures"])
    assert row.template or row.name or row.parser in ("openai", "openai_gptoss")


@pytest.mark.full
def test_the_record_of_vllms_parsers_is_that_of_the_pinned_version() -> None:
    program = (
        "import json, vllm\n"
        "from vllm.model_executor.models.registry import ModelRegistry\n"
        "from vllm.reasoning import ReasoningParserManager\n"
        "from vllm.tool_parsers import ToolParserManager\n"
        "print(json.dumps({'vllm': vllm.__version__.split('+')[0],"
        " 'tools': sorted(ToolParserManager.list_registered()),"
        " 'reasoning': sorted(ReasoningParserManager.list_registered()),"
        " 'architectures': sorted(ModelRegistry.get_supported_archs())}))"
    )
    done = subprocess.run(
        [environment.PYTHON, "-c", program],
        env=environment.python_with(environment.runtime()),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == VLLM
