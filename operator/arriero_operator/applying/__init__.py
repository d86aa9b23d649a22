"""Children are brought into their wanted state, as far as the API server lets that be."""
