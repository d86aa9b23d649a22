"""Make a small model with random weights and Llama 3's own tokenizer: `llama3.py TOKENIZER FOLDER`.

TOKENIZER is the file tokenizer.model of the package llama-models. A program of its own, run with the runtime's
packages: it imports nothing of the project.
"""

import sys
from pathlib import Path

import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import TikTokenConverter

BEGIN, END, EOM, EOT = 128000, 128001, 128008, 128009
NAMED = {
    0: "<|begin_of_text|>",
    1: "<|end_of_text|>",
    6: "<|start_header_id|>",
    7: "<|end_header_id|>",
    8: "<|eom_id|>",
    9: "<|eot_id|>",
    10: "<|python_tag|>",
}
"""Number of a control token, counted from the first one → its spelling."""
CONTROL = [NAMED.get(number, f"<|reserved_special_token_{number}|>") for number in range(256)]
TEMPLATE = """<|begin_of_text|>
{%- if tools %}<|start_header_id|>system<|end_header_id|>

Call functions as {"name": function name, "parameters": dictionary of argument name and its value}:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|eot_id|>{% endif %}
{%- for message in messages %}<|start_header_id|>{{ message.role }}<|end_header_id|>

{{ message.content }}<|eot_id|>{% endfor %}
{%- if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>

{% endif %}"""


def main(source: Path, folder: Path) -> None:
    """Write the model: always the same weights."""
    backend = TikTokenConverter(vocab_file=str(source), extra_special_tokens=CONTROL).converted()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=CONTROL[0], eos_token=CONTROL[9], pad_token=CONTROL[4]
    )
    tokenizer.chat_template = TEMPLATE
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=4096,
        bos_token_id=BEGIN,
        eos_token_id=EOT,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.generation_config = GenerationConfig(bos_token_id=BEGIN, eos_token_id=[END, EOM, EOT])
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
