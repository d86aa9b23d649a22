"""The operator of Arriero; docs/architecture.md tells which package does what."""
