"""A program of its own, with one release of llama-stack-client: `calls.py URL MODEL OTHER`.

Registers and unregisters as its users do, and prints what came back as one JSON object.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from llama_stack_client import APIStatusError, LlamaStackClient


def status(call: Callable[[], object]) -> int:
    """Of a call that may be refused."""
    try:
        call()
    except APIStatusError as error:
        return int(error.status_code)
    return 200


def main(url: str, model: str, other: str) -> dict[str, Any]:
    """Every call, in turn."""
    client = LlamaStackClient(base_url=url, max_retries=0)

    def names() -> list[str]:
        return [one.identifier for one in client.models.list()]

    found: dict[str, Any] = {"empty": names()}
    registered = client.models.register(model_id="org/mine", provider_model_id=model, metadata={"owner": "me"})
    found["registered"] = registered.model_dump(mode="json")
    found["again"] = client.models.register(model_id="org/mine", provider_model_id=model).identifier
    found["alias"] = client.models.register(model_id="alias", provider_model_id=model).identifier
    found["retrieved"] = client.models.retrieve("org/mine").identifier
    found["names"] = names()
    found["other"] = status(lambda: client.models.register(model_id="other", provider_model_id=other))
    client.models.unregister("org/mine")
    found["left"] = names()
    client.models.unregister("alias")
    found["gone"] = names()
    found["never"] = status(lambda: client.models.unregister("never"))
    found["next"] = client.models.register(model_id="other", provider_model_id=other).identifier
    return found


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
