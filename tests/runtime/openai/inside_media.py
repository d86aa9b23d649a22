"""Fetches one address as vLLM's server does, behind the guard: `inside_media.py URL [DOMAIN…]`. Prints what came of it.

A program of its own, run with the runtime's packages.
"""

import asyncio
import socket
import sys
from typing import Any

from vllm.connections import global_http_connection

from arriero_runtime.engine.vllm import media


async def main(url: str, domains: list[str]) -> str:
    """The body, or the exception's name and words."""
    await media.guard(domains)
    try:
        return str(await global_http_connection.async_get_bytes(url, timeout=10), "utf-8")
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    real = socket.getaddrinfo

    def rebound(host: str, *args: Any, **kwargs: Any) -> Any:
        # A public name whose owner has it lead to the pod itself.
        return real("127.0.0.1" if host == "rebound.example" else host, *args, **kwargs)

    vars(socket)["getaddrinfo"] = rebound
    for line in sys.argv[1].split(","):
        print(line, asyncio.run(main(line, sys.argv[2:])), flush=True)
