"""Llama Stack's own prompts and what is read from their answers."""
