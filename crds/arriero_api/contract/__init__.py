"""What operator and runtime say to each other, as plain dataclasses (standard library only).

Four documents, each JSON with a `schemaVersion`:

* `Registrations`: operator to runtime, the file registrations.json. What may change without a restart.
* `RuntimeStatus`: runtime to operator, GET /status on the control port.
* `Failure`: runtime to operator, the container's termination message, and part of the status.
* `Shutdown`: runtime to operator, the termination message of a container that was stopped as asked.

Readers accept unknown keys (a newer writer) and raise `ContractError` for a document they cannot use.
"""

from arriero_api.contract.document import SCHEMA_VERSION, ContractError
from arriero_api.contract.failure import Failure, Phase
from arriero_api.contract.registrations import NameKind, Registration, Registrations, registrations_hash
from arriero_api.contract.shutdown import Shutdown
from arriero_api.contract.status import AdapterState, AdapterStatus, Progress, RuntimeStatus

__all__ = [
    "SCHEMA_VERSION",
    "AdapterState",
    "AdapterStatus",
    "ContractError",
    "Failure",
    "NameKind",
    "Phase",
    "Progress",
    "Registration",
    "Registrations",
    "RuntimeStatus",
    "Shutdown",
    "registrations_hash",
]
