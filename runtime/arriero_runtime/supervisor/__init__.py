"""PID 1 of a model pod: starts the server as its child, answers the probes, explains and cleans up every end.

Standard library, prometheus-client and the contract only: it must be up within a second and stay small.
"""
