"""What goes wrong with the local Kubernetes, in words for the person who started it."""


class ClusterError(Exception):
    """A start or an end that failed; the message names the cause and the remedy."""
