"""The NetworkPolicy of a model's pods: who may connect to them, and where they may connect to."""

from collections.abc import Iterable, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from arriero_api import pod, uris
from arriero_api.credentials import ADDRESS_VARIABLES, PROXY_VARIABLES
from arriero_api.types import EnvVar, Spec
from arriero_operator.configuration.limits import NetworkRules, Peer
from arriero_operator.render import layers, names
from arriero_operator.render.children import metadata
from arriero_operator.render.owner import Json, Owner

_LOCAL: Final = (*uris.MOUNTED, uris.FILE)
_DNS: Final = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
_SCHEMES: Final = {"http": 80, "https": 443, "socks4": 1080, "socks4a": 1080, "socks5": 1080, "socks5h": 1080}
_LAST_PORT: Final = 65_535


def network_policy(
    owner: Owner, spec: Spec, rules: NetworkRules, hub_endpoint: str, profile_env: Sequence[EnvVar] = ()
) -> Json:
    """Clients to 8080, operator and monitoring to 8081; out to DNS and to where models come from; nothing else.

    `profile_env` are variables that the spec's own are laid over. The kubelet's probes come from the node, which
    NetworkPolicies let through. Pods whose model and adapters are on their own volumes fetch nothing and get DNS alone.
    """
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(owner, names.stem(owner.name)),
        "spec": {
            "podSelector": {"matchLabels": names.selector(owner.name)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": _ingress(rules),
            "egress": _egress(spec, rules, [hub_endpoint, *_addresses(spec, profile_env)]),
        },
    }


def _ingress(rules: NetworkRules) -> list[Json]:
    found = [_rule("from", rules.clients, _tcp([pod.SERVE_PORT]))]
    # Without a peer a rule would let everybody in.
    if control := [*rules.operator, *rules.monitoring]:
        found.append(_rule("from", control, _tcp([pod.CONTROL_PORT])))
    return found


def _egress(spec: Spec, rules: NetworkRules, addresses: Iterable[str]) -> list[Json]:
    found = [_rule("to", rules.egress.dns, _DNS)]
    if _fetches(spec):
        named = (port for address in addresses if (port := _port_of(address)) is not None)
        ports = {*rules.egress.source_ports, *named, *_named_ports(spec)}
        found.append(_rule("to", rules.egress.sources, _tcp(sorted(ports))))
    return found


def _addresses(spec: Spec, profile_env: Sequence[EnvVar]) -> list[str]:
    """Other hosts of sources, and forward proxies, that variables name; what comes from a Secret is not seen."""
    env = layers.environment("", list(profile_env), spec.engine.env if spec.engine else None)
    return [one.get("value", "") for one in env if one["name"] in ADDRESS_VARIABLES | PROXY_VARIABLES]


def _fetches(spec: Spec) -> bool:
    return any(uri.partition("://")[0] not in _LOCAL for uri in _uris(spec))


def _uris(spec: Spec) -> list[str]:
    adapters = (spec.lora.adapters or ()) if spec.lora else ()
    return [spec.model.uri, *(one.uri for one in adapters)]


def _named_ports(spec: Spec) -> list[int]:
    """Ports that URIs of web servers name; one that no port can be is left to the runtime to refuse."""
    hosts = [uri.split("/")[2] for uri in _uris(spec) if uri.startswith(f"{uris.HTTPS}://")]
    found = [int(port) for _, _, port in (host.partition(":") for host in hosts) if port]
    return [port for port in found if 0 < port <= _LAST_PORT]


def _port_of(address: str) -> int | None:
    """The port of an address, of a proxy maybe without a scheme; None where it has none that can be."""
    if not address or "$(" in address:  # made of another variable, maybe of a Secret's
        return None
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        port = parts.port
    except ValueError:
        return None  # the runtime says what is wrong with it
    return (port or None) if port is not None else _SCHEMES.get(parts.scheme.lower())


def _rule(side: str, peers: list[Peer], ports: list[Json]) -> Json:
    rule: dict[str, Any] = {"ports": ports}
    return rule | ({side: [dict(peer) for peer in peers]} if peers else {})


def _tcp(ports: Iterable[int]) -> list[Json]:
    return [{"protocol": "TCP", "port": port} for port in ports]
