"""What a LoRA adapter is on disk, and whether it fits the model: the engine itself loads many that do not."""
