"""The three acts, in the order of their names here: serve, rename, mend; and the end of a model, shut_down."""
