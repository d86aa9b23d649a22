"""The Llama Stack API of the runtime."""
