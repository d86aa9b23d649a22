"""Make a small model that embeds or scores, with random weights and the tokenizer of another:
`pool.py SOURCE FOLDER embed|score`.

A program of its own, run with the runtime's packages: it imports nothing of the project.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification, BertModel


def main(source: Path, folder: Path, kind: str) -> None:
    """Write the model: always the same weights. One label makes a model that scores pairs."""
    tokenizer = AutoTokenizer.from_pretrained(source)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=512,
        pad_token_id=tokenizer.pad_token_id,
        num_labels=1,
    )
    torch.manual_seed(0)
    model = BertModel(config) if kind == "embed" else BertForSequenceClassification(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
