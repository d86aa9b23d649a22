"""What pods are made of, kept as ControllerRevisions: their content, and which of them a spec means. Pure."""
