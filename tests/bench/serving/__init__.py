"""The runtime's OpenAI and Llama Stack routes against the engine's own server: `python -m tests.bench.serving`."""
