"""A module for schemathesis, in a process of its own: generated requests name the model that is served, so that more
than the name is looked at."""

from typing import Any

import schemathesis

NAMES = ("model", "model_id")


def map_body(context: Any, body: Any) -> Any:
    """Other values than texts stay, as they are what is wrong with the request."""
    if not isinstance(body, dict):
        return body
    return {**body, **{name: "one" for name in NAMES if isinstance(body.get(name), str)}}


schemathesis.hook(map_body)
