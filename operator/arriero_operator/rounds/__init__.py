"""One reconcile under way, as all of its steps share it: what was found, what is planned, what came of it."""
