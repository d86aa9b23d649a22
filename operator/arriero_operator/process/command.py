"""The command line, and the one line that an end without success leaves."""

import argparse
import asyncio
import gc
import logging
import os
import secrets
import socket
import sys
from pathlib import Path
from typing import Final

from arriero_operator.configuration import file
from arriero_operator.configuration.file import SettingsError
from arriero_operator.process import logs
from arriero_operator.process.options import Options
from arriero_operator.process.wiring import MakeReconcile, serve

_log = logging.getLogger("arriero_operator")

LEASE: Final = "arriero-operator"
"""Name of the Lease of an operator that no chart has installed."""
_COLLECT: Final = (10_000, 20, 20)
"""Python's own thresholds look through the young objects ten times for each event, and find next to nothing."""
_DEEPEST: Final = 40_000
"""Calls inside of each other. The API server takes JSON of 10,000 levels, and one object that cannot be read would end
the watch of all: what goes through such a value needs a call or two for each level."""


def run(make_reconcile: MakeReconcile, arguments: list[str] | None = None) -> int:
    """The exit code: 0 after a stop that was asked for, 1 where it cannot work or go on, 2 for wrong settings."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if not given.namespace_of_lease:
        parser.error("set POD_NAMESPACE by the downward API, or pass --namespace-of-lease")
    logs.configure()
    try:
        loaded = file.load(given.settings)
    except SettingsError as error:
        _log.critical("Settings are not usable", extra={"error": str(error)})
        return 2
    options = Options(
        kubeconfig=given.kubeconfig,
        lease_namespace=given.namespace_of_lease,
        lease=given.lease,
        identity=given.identity,
        probe_port=given.probe_port,
    )
    sys.setrecursionlimit(_DEEPEST)
    gc.freeze()  # what was imported stays
    gc.set_threshold(*_COLLECT)
    try:
        asyncio.run(serve(options, loaded, make_reconcile))
    except Exception as error:
        cause = _cause(error)
        _log.critical("Operator ends", extra={"error": str(cause), "cause": type(cause).__name__})
        return 1
    return 0


def _cause(error: BaseException) -> BaseException:
    """What lies in a group of one."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="arriero-operator", description="Serves InferenceModels with vLLM.")
    parser.add_argument("--settings", type=Path, default=file.DEFAULT_PATH, help="file of settings (%(default)s)")
    parser.add_argument("--kubeconfig", type=Path, help="instead of the pod's service account")
    parser.add_argument(
        "--namespace-of-lease", default=os.environ.get("POD_NAMESPACE", ""), help="where the Lease is: POD_NAMESPACE"
    )
    parser.add_argument(
        "--lease", default=os.environ.get("LEASE_NAME") or LEASE, help="its name, one for each installation: LEASE_NAME"
    )
    parser.add_argument("--identity", default=_identity(), help="holder of the Lease: POD_NAME")
    parser.add_argument("--probe-port", type=int, default=8080, help="/livez, /readyz, /metrics (%(default)s)")
    return parser


def _identity() -> str:
    """A pod's name is unique, and its container finds its own Lease again after a crash."""
    return os.environ.get("POD_NAME") or f"{socket.gethostname()}-{secrets.token_hex(4)}"
