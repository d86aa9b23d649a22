"""How changes in the cluster come in: lists, streams, their signs of life, and what of it wakes a model."""
