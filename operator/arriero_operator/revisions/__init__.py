"""What pods are made of, kept as ControllerRevisions: which of them a spec means, and which stay. Pure."""
