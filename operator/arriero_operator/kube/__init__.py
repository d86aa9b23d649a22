"""Talking to the API server: the narrow protocol, its adapter on kubernetes.aio, and typed errors."""
