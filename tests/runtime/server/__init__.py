"""The runtime's server without an engine: a scripted one stands at the edge."""
