"""The connections to one API server: kept open, with the certificates and the proxy of the credentials."""

from collections.abc import Mapping
from typing import Any, Final

import aiohttp
from kubernetes.aio.client import Configuration
from kubernetes.aio.client.rest import RESTClientObject

from arriero_operator.kube.parsing import written

CONNECT_TIMEOUT: Final = 10.0


class Connections(RESTClientObject):
    """The client library's session, asked without what the library does for each request: it looks at the body's kind,
    and writes it by Python's own JSON."""

    def __init__(self, configuration: Configuration) -> None:
        super().__init__(configuration)
        self._session = self._create_pool_manager()
        known = {
            "server_hostname": configuration.tls_server_name,
            "proxy": self.proxy,
            "proxy_headers": self.proxy_headers,
        }
        self._ways: dict[str, Any] = {name: value for name, value in known.items() if value}

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,
        body: Mapping[str, Any] | None = None,
    ) -> aiohttp.ClientResponse:
        """The answer's head; the caller reads or closes the answer. Raises as aiohttp."""
        data = None if body is None else written(body)
        return await self._session.request(method, url, headers=headers, data=data, timeout=timeout, **self._ways)

    async def close(self) -> None:
        """End them all."""
        await self._session.close()
