"""The Llama Stack API of the runtime, translated in process to the engine's OpenAI application and back.

No hop over HTTP and no sampling of its own: what the engine's application gets right stays right.
"""
