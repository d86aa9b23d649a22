"""The server: the model's API on one port from the first second on, and the engine's life cycle behind it."""
