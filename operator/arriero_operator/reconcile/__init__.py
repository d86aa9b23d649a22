"""One pass over a model: the steps in their order, and what is told of it."""
