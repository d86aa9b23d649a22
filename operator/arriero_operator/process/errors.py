"""Why the operator does not start."""


class StartupError(Exception):
    """The operator cannot work here; the text is one line with cause and remedy."""
