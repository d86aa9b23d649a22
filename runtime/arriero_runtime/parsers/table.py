"""Model → vLLM's parser, for tool calls and for reasoning. The first row that fits counts; none is better than a wrong
one.

A row fits by the architecture in config.json, by what the chat template holds (the form of calls that it teaches the
model), and, where these do not suffice, by the model's name.
"""

from dataclasses import dataclass
from typing import Final

_LLAMA: Final = ("LlamaForCausalLM",)
_MISTRAL: Final = (
    "MistralForCausalLM",
    "MixtralForCausalLM",
    "Ministral3ForCausalLM",
    "Mistral3ForConditionalGeneration",
    "MistralLarge3ForCausalLM",
    "PixtralForConditionalGeneration",
)
_QWEN_2: Final = (
    "Qwen2ForCausalLM",
    "Qwen2MoeForCausalLM",
    "Qwen2VLForConditionalGeneration",
    "Qwen2_5_VLForConditionalGeneration",
)
_QWEN_3: Final = (
    "Qwen3ForCausalLM",
    "Qwen3MoeForCausalLM",
    "Qwen3NextForCausalLM",
    "Qwen3VLForConditionalGeneration",
    "Qwen3VLMoeForConditionalGeneration",
    "Qwen3_5ForCausalLM",
    "Qwen3_5ForConditionalGeneration",
    "Qwen3_5MoeForCausalLM",
    "Qwen3_5MoeForConditionalGeneration",
)
_NEMOTRON: Final = ("NemotronHForCausalLM", "NemotronHPuzzleForCausalLM")
_DEEPSEEK_3: Final = ("DeepseekV3ForCausalLM",)
_KIMI: Final = (*_DEEPSEEK_3, "KimiK25ForConditionalGeneration")
_GLM_4: Final = (
    "Glm4MoeForCausalLM",
    "Glm4MoeLiteForCausalLM",
    "Glm4vMoeForConditionalGeneration",
    "GlmMoeDsaForCausalLM",
)
_GRANITE: Final = ("GraniteForCausalLM", "GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM")
_GEMMA_4: Final = (
    "Gemma4ForCausalLM",
    "Gemma4ForConditionalGeneration",
    "Gemma4UnifiedForConditionalGeneration",
)
_COHERE: Final = ("Cohere2ForCausalLM", "Cohere2VisionForConditionalGeneration")
_MINIMAX_3: Final = ("MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration")
_STEP_3: Final = ("Step3TextForCausalLM", "Step3VLForConditionalGeneration")
_MIMO_2: Final = ("MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM")
_ERNIE: Final = ("Ernie4_5_MoeForCausalLM", "Ernie4_5_VLMoeForConditionalGeneration")
_LFM_2: Final = ("Lfm2ForCausalLM", "Lfm2MoeForCausalLM", "Lfm2VlForConditionalGeneration")
_LONGCAT: Final = ("LongcatFlashForCausalLM", "LongcatFlashNgramForCausalLM")


@dataclass(frozen=True, slots=True)
class Row:
    """`name` and `template` are regular expressions, searched for without regard to case; empty ones fit everything.
    `unless` is one for names that the row is not for."""

    parser: str
    architectures: tuple[str, ...]
    template: str = ""
    name: str = ""
    unless: str = ""


_JSON_IN_TAGS: Final = r"<args-(json-object|dict)>"
"""As Hermes and Qwen teach it: {"name": <function-name>, "arguments": <args-…>}."""
_XML_IN_TAGS: Final = r"<function="
_THINK: Final = r"</?think>"

TOOLS: Final = (
    Row("hermes", (*_LLAMA, *_MISTRAL, *_QWEN_2, *_QWEN_3, "SmolLM3ForCausalLM"), template=_JSON_IN_TAGS),
    Row("qwen3_coder", (*_QWEN_3, *_NEMOTRON), template=_XML_IN_TAGS),
    Row("llama3_json", _LLAMA, template=r"dictionary of argument name"),
    Row("llama4_pythonic", ("Llama4ForConditionalGeneration", "Llama4ForCausalLM"), template=r"func_name1\("),
    Row("mistral", _MISTRAL, template=r"\[TOOL_CALLS\]"),
    Row("kimi_k2", _KIMI, template=r"tool_calls_section_begin"),
    Row("deepseek_v31", _DEEPSEEK_3, template=r"tool▁calls▁begin", name=r"v3\.1"),
    Row("deepseek_v3", _DEEPSEEK_3, template=r"tool▁calls▁begin[\s\S]*```json", unless=r"v3\.1"),
    Row("granite-20b-fc", ("GPTBigCodeForCausalLM",), name=r"granite-20b-functioncalling"),
    Row("granite", _GRANITE, template=r"<\|tool_call\|>"),
    Row("granite4", ("GraniteMoeHybridForCausalLM",), template=r"<tool_call>"),
    Row("openai", ("GptOssForCausalLM",)),
    Row("glm45", _GLM_4, template=r"<arg_key>"),
    Row("minimax_m2", ("MiniMaxM2ForCausalLM",), template=r"minimax:tool_call"),
    Row("minimax_m3", _MINIMAX_3, template=r"tool_call"),
    Row("internlm", ("InternLM2ForCausalLM",), template=r"<\|plugin\|>"),
    Row("jamba", ("JambaForCausalLM",), template=r"<tool_calls>"),
    Row("olmo3", ("Olmo3ForCausalLM",), template=r"<function_calls>"),
    Row("seed_oss", ("SeedOssForCausalLM",), template=r"seed:tool_call"),
    Row("step3", _STEP_3, template=r"tool_calls?_begin|tool▁calls"),
    Row("step3p5", ("Step3p5ForCausalLM",), template=r"<tool_call>"),
    Row("hunyuan_a13b", ("HunYuanMoEV1ForCausalLM",), template=r"<tool_calls>"),
    Row("ernie45", _ERNIE, template=r"<tool_call>"),
    Row("functiongemma", ("Gemma3ForCausalLM",), template=r"start_function_call"),
    Row("gemma4", _GEMMA_4, template=r"tool_call"),
    Row("cohere_command3", _COHERE, template=r"START_ACTION"),
    Row("lfm2", _LFM_2, template=r"tool_call_start|tool_list_start"),
    Row("apertus", ("ApertusForCausalLM",), template=r"tools_prefix"),
    Row("mimo", _MIMO_2, template=_XML_IN_TAGS),
    Row("longcat", _LONGCAT, template=r"longcat_tool_call"),
)

REASONING: Final = (
    Row("deepseek_r1", (*_LLAMA, *_QWEN_2), template=_THINK, name=r"deepseek-r1-distill|qwq"),
    Row("qwen3", _QWEN_3, template=_THINK, unless=r"instruct|coder"),
    Row("kimi_k2", _KIMI, template=_THINK, name=r"kimi"),
    Row("deepseek_v3", _DEEPSEEK_3, template=_THINK, name=r"v3\.1"),
    Row("deepseek_r1", _DEEPSEEK_3, template=_THINK, name=r"deepseek-r1"),
    Row("mistral", _MISTRAL, template=r"\[THINK\]", name=r"magistral|reasoning"),
    Row("openai_gptoss", ("GptOssForCausalLM",)),
    Row("glm45", _GLM_4, template=_THINK),
    Row("granite", _GRANITE, template=r"thought process"),
    Row("minimax_m2", ("MiniMaxM2ForCausalLM",), template=_THINK),
    Row("olmo3", ("Olmo3ForCausalLM",), template=_THINK, name=r"think"),
    Row("seed_oss", ("SeedOssForCausalLM",), template=r"seed:think"),
    Row("step3", _STEP_3, template=_THINK),
    Row("step3p5", ("Step3p5ForCausalLM",), template=_THINK),
    Row("hunyuan_a13b", ("HunYuanMoEV1ForCausalLM",), template=_THINK),
    Row("ernie45", _ERNIE, template=_THINK, name=r"thinking"),
    Row("gemma4", _GEMMA_4, template=r"enable_thinking"),
    Row("cohere_command3", _COHERE, template=r"START_THINKING", name=r"reasoning"),
    Row("nemotron_v3", _NEMOTRON, template=_THINK, name=r"nemotron-?3|nano-v3|3-nano|3-super"),
    Row("mimo", _MIMO_2, template=_THINK),
)
