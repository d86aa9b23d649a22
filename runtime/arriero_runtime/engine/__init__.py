"""The engine behind a Protocol, so that another one, or another way to run it, can come."""
