"""Which of vLLM's parsers reads a model's tool calls, and which its reasoning."""
