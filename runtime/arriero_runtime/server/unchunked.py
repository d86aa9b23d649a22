"""Answers to clients of HTTP/1.0, which know no chunks: what has no length ends with its connection.

RFC 9112, section 6.1: no Transfer-Encoding in an answer to a request of HTTP/1.0.
"""

from typing import Any

from arriero_runtime.engine.protocol import AsgiApp, Message, Receive, Scope, Send


def unchunked(app: AsgiApp, cycle: Any) -> AsgiApp:
    """The application as it is to be run for one request of such a client. `cycle` is uvicorn's for that request, which
    ends the connection after the answer."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        endless = False

        async def give(message: Message) -> None:
            nonlocal endless
            if message["type"] == "http.response.start":
                endless = all(name.lower() != b"content-length" for name, _ in message.get("headers", ()))
                if endless:
                    cycle.chunked_encoding = False
            elif endless:
                # The cycle holds each piece against the length that is left.
                cycle.expected_content_length = len(message.get("body", b""))
            await send(message)

        await app(scope, receive, give)

    return answer
