"""Names that change without a restart: the files that pods follow, and which pods have proven to serve by them."""
