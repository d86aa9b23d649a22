"""NetworkPolicies of models: what they let through, and that they come and go with the chart's switch."""

from typing import Any

import pytest

from arriero_api.types import EnvVar, Spec
from arriero_operator.configuration.limits import Egress, NetworkRules
from arriero_operator.render.networkpolicy import network_policy
from arriero_operator.render.owner import Owner
from tests.conftest import MakeOperator
from tests.operator.reconcile.models import model, until
from tests.operator.reconcile.pods import Pods
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl
from tests.support.operator import operator_settings

Json = dict[str, Any]
OPERATOR = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ops"}}}]
DNS = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]


def rules(uri: str = "hf://org/tiny", hub: str = "", adapter: str = "", **wanted: Any) -> Json:
    """Ingress and egress of a model's policy; `adapter` is the URI of one."""
    lora = {"lora": {"adapters": [{"name": "a", "uri": adapter}]}} if adapter else {}
    spec = Spec.model_validate({"model": {"uri": uri}, **lora})
    made: Json = network_policy(Owner("team", "tiny", "uid"), spec, NetworkRules(enabled=True, **wanted), hub)["spec"]
    assert made["podSelector"] == {"matchLabels": {"arriero.dev/model": "tiny"}}
    assert made["policyTypes"] == ["Ingress", "Egress"]
    return made


def with_env(theirs: dict[str, str], **mine: str) -> list[int]:
    """Ports of sources of a model with these variables, over those of its profile."""
    spec = {"model": {"uri": "hf://org/tiny"}, "engine": {"env": [{"name": n, "value": v} for n, v in mine.items()]}}
    base = [EnvVar(name=name, value=value) for name, value in theirs.items()]
    rules = NetworkRules(enabled=True)
    made: Json = network_policy(Owner("team", "tiny", "uid"), Spec.model_validate(spec), rules, "", base)["spec"]
    return [one["port"] for one in made["egress"][1]["ports"]]


def tcp(*ports: int) -> list[Json]:
    """TCP ports of a rule."""
    return [{"protocol": "TCP", "port": port} for port in ports]


def test_clients_reach_8080_operator_and_monitoring_8081_and_nobody_anything_else() -> None:
    monitoring = [{"podSelector": {"matchLabels": {"app": "prometheus"}}}]
    assert rules(operator=OPERATOR, monitoring=monitoring)["ingress"] == [
        {"from": [{"podSelector": {}}], "ports": tcp(8080)},
        {"from": [*OPERATOR, *monitoring], "ports": tcp(8081)},
    ]


def test_without_peers_everybody_may_ask_the_model_but_nobody_its_status() -> None:
    assert rules(clients=[])["ingress"] == [{"ports": tcp(8080)}]


@pytest.mark.parametrize("uri", ["pvc://claim/model", "file:///models/tiny", "oci://registry.example/tiny:1"])
def test_a_model_on_its_own_volume_reaches_dns_alone(uri: str) -> None:
    assert rules(uri)["egress"] == [{"ports": DNS}]


def test_a_model_that_is_fetched_reaches_its_sources_and_the_hubs_own_port() -> None:
    assert rules()["egress"] == [{"ports": DNS}, {"ports": tcp(443)}]
    assert rules(hub="http://hub.example:8080")["egress"][1] == {"ports": tcp(443, 8080)}
    mirror = [{"ipBlock": {"cidr": "10.0.0.0/8"}}]
    found = rules(egress=Egress(sources=mirror, source_ports=[8443]))
    assert found["egress"][1] == {"to": mirror, "ports": tcp(8443)}


@pytest.mark.parametrize(
    ("uri", "adapter", "ports"),
    [
        ("https://mirror.example:8443/tiny", "", [443, 8443]),
        ("hf://org/tiny", "https://mirror.example:9443/a", [443, 9443]),
        ("https://mirror.example:8443/tiny", "https://mirror.example:9443/a", [443, 8443, 9443]),
        ("https://mirror.example/tiny", "", [443]),
        ("https://mirror.example:0/tiny", "https://mirror.example:65536/a", [443]),
    ],
    ids=["the model's", "an adapter's", "both", "none is named", "no port can be so"],
)
def test_the_port_that_a_web_server_of_the_spec_is_at_is_open(uri: str, adapter: str, ports: list[int]) -> None:
    assert rules(uri, adapter=adapter)["egress"][1] == {"ports": tcp(*ports)}


ADDRESSES = {
    "a hub's": ("HF_ENDPOINT", "http://hub.example:8081", [443, 8081]),
    "a store's": ("AWS_ENDPOINT_URL", "http://minio.example:9000/", [443, 9000]),
    "a store's by another name": ("AWS_ENDPOINT", "http://minio.example:9000/", [443, 9000]),
    "Azure's": ("AZURE_STORAGE_ENDPOINT", "http://azurite.example:10000/dev", [443, 10000]),
    "Google's": ("GOOGLE_BASE_URL", "http://fake-gcs.example:4443", [443, 4443]),
    "a proxy's": ("HTTPS_PROXY", "http://proxy.example:3128", [443, 3128]),
    "a proxy's in lower case": ("https_proxy", "http://proxy.example:3128", [443, 3128]),
    "a proxy's without a scheme": ("HTTP_PROXY", "proxy.example:3128", [443, 3128]),
    "a proxy's without a port": ("all_proxy", "http://proxy.example", [80, 443]),
    "a proxy's of another kind": ("ALL_PROXY", "socks5://proxy.example", [443, 1080]),
    "none that can be": ("HTTPS_PROXY", "http://proxy.example:99999", [443]),
    "none that is known": ("HTTPS_PROXY", "$(PROXY)", [443]),
    "no address": ("NO_PROXY", "localhost:8000", [443]),
}


@pytest.mark.parametrize(("name", "value", "ports"), ADDRESSES.values(), ids=ADDRESSES)
def test_the_port_of_an_endpoint_or_proxy_that_a_variable_names_is_open(
    name: str, value: str, ports: list[int]
) -> None:
    assert with_env({}, **{name: value}) == ports
    assert with_env({name: value}) == ports, "also of one that the profile has"


def test_of_a_variable_that_the_spec_has_over_the_profiles_the_specs_counts() -> None:
    assert with_env({"HTTPS_PROXY": "http://a:3128"}, HTTPS_PROXY="http://b:3129") == [443, 3129]


def test_where_the_chart_names_other_ports_the_usual_one_is_not_opened_by_a_uri_without_a_port() -> None:
    found = rules("https://mirror.example/tiny", egress=Egress(source_ports=[8443]))
    assert found["egress"][1] == {"ports": tcp(8443)}


@pytest.mark.control_plane
def test_every_model_gets_one_and_loses_it_when_it_is_switched_off(kubectl: Kubectl, operator: MakeOperator) -> None:
    wanted = operator_settings(kubectl.namespace)["networkPolicies"]
    process = operator(networkPolicies=wanted | {"enabled": True})
    kubectl.apply(model("tiny"))
    Pods(kubectl, "tiny").placed()
    until(kubectl, "tiny", "Accepted", "True")
    made = kubectl.json("get", "networkpolicy", "tiny")
    peers = [peer for rule in made["spec"]["ingress"] for peer in rule["from"]]
    assert peers[0] == {"podSelector": {}}
    assert peers[1]["podSelector"]["matchLabels"]["app.kubernetes.io/name"] == "arriero-operator"
    kubectl.patch("networkpolicy", "tiny", {"spec": {"ingress": []}})
    eventually(lambda: kubectl.json("get", "networkpolicy", "tiny")["spec"] == made["spec"], 5)
    process.stop()
    operator(identity="operator-1")
    eventually(lambda: not kubectl.exists("networkpolicy", "tiny"), 20)
