"""Pure decisions: what is accepted, who holds a name, how pods are replaced, when to go back, what the status says."""
