"""What is reconciled: the key of an InferenceModel."""

Key = tuple[str, str]
"""Namespace and name."""
