"""File bodies: whole or a range, at a given speed, perhaps broken off."""

import asyncio
import re
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tests.hub.faults import Fault
from tests.hub.repository import File

__all__ = ["send"]

CHUNK = 1 << 20
STEPS_PER_SECOND = 10


def send(request: Request, file: File, headers: dict[str, str], speed: int | None, fault: Fault | None) -> Response:
    """The answer to GET or HEAD of a file; `speed` is in bytes per second, None for as fast as it goes."""
    headers = {**headers, "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
    span = _span(request.headers.get("range", ""), file.size)
    if span is None:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{file.size}"})
    start, stop = span
    headers["Content-Length"] = str(stop - start)
    status = 200
    if "range" in request.headers:
        status, headers["Content-Range"] = 206, f"bytes {start}-{stop - 1}/{file.size}"
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    end_at = fault.truncate_at if fault else None
    last = stop if end_at is None else max(start, min(stop, end_at))
    chunks = _chunks(file, start, last, speed)
    return StreamingResponse(_garbled(chunks) if fault and fault.garbled else chunks, status, headers)


def _span(header: str, size: int) -> tuple[int, int] | None:
    """The half-open byte range that a Range header asks for; None if it lies outside of the file."""
    if not header:
        return 0, size
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", header)
    if not match:
        return None
    start, stop = int(match[1]), min(int(match[2]) + 1 if match[2] else size, size)
    return (start, stop) if start < stop else None


async def _chunks(file: File, start: int, stop: int, speed: int | None) -> AsyncIterator[bytes]:
    size = max(1, speed // STEPS_PER_SECOND) if speed else CHUNK
    with file.open() as source:
        source.seek(start)
        while start < stop and (chunk := source.read(min(size, stop - start))):
            start += len(chunk)
            if speed:
                await asyncio.sleep(len(chunk) / speed)
            yield chunk


async def _garbled(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """As many bytes, others."""
    async for chunk in chunks:
        yield bytes(byte ^ 0xFF for byte in chunk)
