"""GET /status of pods.

No connection outlives its answer: an address may be another pod's a moment later, and the runtime has a thread for each
connection that is open.
"""

from types import TracebackType
from typing import Final, Self

import aiohttp

from arriero_api import pod as pod_contract
from arriero_api.contract import ContractError, RuntimeStatus

_BODY_LIMIT: Final = 65_536


class RuntimeClient:
    """Asks while its block lasts; how many questions there are at once is for others to bound."""

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def status(self, ip: str) -> RuntimeStatus:
        """What the runtime at `ip` says. Raises OSError, TimeoutError, aiohttp.ClientError or ContractError."""
        host = f"[{ip}]" if ":" in ip else ip
        url = f"http://{host}:{pod_contract.CONTROL_PORT}/status"
        async with self._session.get(url, allow_redirects=False) as answer:
            if answer.status != 200:
                raise ContractError(f"status: HTTP {answer.status}")
            body = b""
            async for chunk in answer.content.iter_chunked(8192):
                body += chunk
                if len(body) > _BODY_LIMIT:
                    raise ContractError(f"status: longer than {_BODY_LIMIT} bytes")
            return RuntimeStatus.from_json(body.decode(errors="replace"))
