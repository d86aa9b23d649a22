"""Pure builders of a model's children."""
