"""What all documents between operator and runtime have in common."""

import json
from typing import Any, Final

SCHEMA_VERSION: Final = 1


class ContractError(ValueError):
    """A document of the other side cannot be used; the text says which field and why."""


def parse(text: str, what: str) -> dict[str, Any]:
    """The JSON object of a known schema version; `what` it is, for the error. Raises ContractError."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ContractError(f"{what}: not JSON: {error}") from error
    if not isinstance(body, dict):
        raise ContractError(f"{what}: must be a JSON object")
    version = body.get("schemaVersion")
    if version != SCHEMA_VERSION:
        raise ContractError(f"{what}: schemaVersion {version!r} is not one of: {SCHEMA_VERSION}")
    return body
