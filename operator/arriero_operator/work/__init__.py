"""Which key is reconciled when, and beside which others. Imports nothing of Kubernetes."""
