"""Servers that models come from, on this machine: object stores, web servers, a proxy. The hub is `tests.hub`."""
