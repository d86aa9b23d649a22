"""Where images, audio and video of requests may be fetched from: nowhere inside of the cluster.

vLLM fetches addresses that clients write into messages, from within the pod. The guard sits where a connection is made,
behind name resolution and redirects, so that neither can lead around it.
"""

import ipaddress
import socket
from collections.abc import Sequence
from typing import Any, Final

_TRANSLATED: Final = ipaddress.ip_network("64:ff9b::/96")
"""Where networks without IPv4 have its addresses."""
_GLOBAL: Final = ipaddress.ip_network("2000::/3")
"""All of IPv6's internet. Python calls others global too, some of which lead to addresses of IPv4 by local rules."""


def is_public(address: str) -> bool:
    """Whether an IP address is one of the internet: not loopback, link-local, private, shared, multicast, reserved."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return is_public(str(found.ipv4_mapped))
        if found.sixtofour or found.teredo:
            return False
        if found in _TRANSLATED:
            return is_public(str(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)))
        if found not in _GLOBAL:
            return False
    return found.is_global and not found.is_multicast


class _Straight:
    """The part of a client session that vLLM uses, without redirects."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def get(self, url: str, **options: Any) -> Any:
        """As the session's."""
        return self._session.get(url, **options | {"allow_redirects": False})


async def guard(domains: Sequence[str] | None) -> None:
    """Guard the one client that vLLM fetches media with; to be called in the server's event loop.

    `domains` are those of --allowed-media-domains: whoever lists one trusts it, so its address may be private; and as
    vLLM does not compare where a redirect leads with the list, redirects are then not followed. Proxies of the
    environment are not used: one would resolve the names itself.
    """
    import aiohttp
    import requests
    from vllm.connections import global_http_connection
    from vllm.exceptions import VLLMValidationError

    def connect(info: Any) -> socket.socket:
        family, kind, protocol, _, address = info
        if not is_public(address[0]):
            raise VLLMValidationError("The address of this media is not a public one: send the data itself (data:…).")
        return socket.socket(family=family, type=kind, proto=protocol)

    connector = aiohttp.TCPConnector(socket_factory=None if domains else connect, limit=20)
    session = aiohttp.ClientSession(connector=connector, trust_env=False)
    global_http_connection._async_client = _Straight(session) if domains else session
    # The way for programs without an event loop: not used here, so nothing can be fetched by it.
    nothing = requests.Session()
    nothing.adapters.clear()
    global_http_connection._sync_client = nothing
