"""Which key is reconciled when, and beside which others. Knows nothing of Kubernetes."""
