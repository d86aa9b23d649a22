"""Prints the routes of vLLM's application, and the parameters of each, as JSON, for each kind of model.

A program of its own, run with the runtime's packages.
"""

import json
import typing
from unittest.mock import MagicMock

from vllm.entrypoints.launchers.app import build_app
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser

KINDS = {
    "generate": ("generate",),
    "embed": ("embed", "token_embed"),
    "classify": ("classify", "score"),
    "transcription": ("transcription",),
}


def names(annotation: typing.Any) -> set[str]:
    """The fields of a request's model, or of all models that it may be."""
    if hasattr(annotation, "model_fields"):
        return set(annotation.model_fields)
    return set().union(*(names(part) for part in typing.get_args(annotation)))


def main() -> dict[str, typing.Any]:
    """Kind → path → methods, and path → parameters."""
    args = make_arg_parser(FlexibleArgumentParser()).parse_args(["--disable-fastapi-docs"])
    routes: dict[str, dict[str, list[str]]] = {}
    fields: dict[str, list[str]] = {}
    for kind, tasks in KINDS.items():
        app = build_app(args, tasks, MagicMock())
        routes[kind] = {route.path: sorted(getattr(route, "methods", None) or ()) for route in app.routes}
        for route in app.routes:
            if (body := getattr(route, "body_field", None)) is not None:
                found = names(body.field_info.annotation)
                fields[route.path] = sorted(found | set(fields.get(route.path, ())))
    return {"routes": routes, "requests": fields}


if __name__ == "__main__":
    print(json.dumps(main(), indent=1, sort_keys=True))
