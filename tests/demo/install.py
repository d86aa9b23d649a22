"""Before the acts: the cluster, the images, the local hub, the chart; and what an earlier run left is removed."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster import Cluster
from tests.cluster.images import Images
from tests.cluster.waiting import until
from tests.demo import hub, output
from tests.demo.client import NAME, NAMESPACE, Client
from tests.demo.errors import DemoError
from tests.demo.tools import Tools

SYSTEM = "arriero-system"
MODELS = ("smollm2", "storyteller")
_RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
_GONE_SECONDS = 150


@dataclass(frozen=True)
class Stage:
    """Where the acts play."""

    cluster: Cluster
    tools: Tools
    client: Client


def set_up() -> Stage:
    """Bring up all that the acts need, and remove what an earlier run left."""
    stage = stand_up()
    _remove_models(stage.tools)
    return stage


def stand_up() -> Stage:
    """Cluster, images, hub, chart and client pod; each part is kept where it is there already."""
    output.heading("Before the acts: a Kubernetes of this machine's own, and Arriero on it")
    output.tell(
        "The first run builds Kubernetes and the images from source: about half an hour on two cores. Later runs "
        "find them in the cache and take minutes."
    )
    begin = time.monotonic()
    cluster = Cluster.start()
    tools = Tools(cluster.bin, cluster.kubeconfig)
    if cluster.images is None:
        raise DemoError("the cluster has no images of the product")
    endpoint = hub.start(cluster)
    output.good(f"cluster, images and a local hub with {hub.REPOSITORY}: {time.monotonic() - begin:.0f} s")
    tools.apply(_namespace(SYSTEM), _namespace(NAMESPACE))
    values = cluster.kubeconfig.parent / "demo-values.json"
    values.write_text(json.dumps(_values(cluster.images, endpoint), indent=1))
    _install(tools, values)
    client = Client.start(tools, cluster.images.operator)
    output.good(f"the operator is ready; the pod {NAME} will ask the models; both namespaces enforce 'restricted'")
    return Stage(cluster, tools, client)


def _install(tools: Tools, values: Path) -> None:
    output.command(
        f"helm upgrade --install arriero charts/arriero -n {SYSTEM} --create-namespace --wait --values {values}"
    )
    _forget_interrupted(tools)
    tools.run(
        "helm",
        "upgrade",
        "--install",
        "arriero",
        "charts/arriero",
        f"--namespace={SYSTEM}",
        "--create-namespace",
        "--wait",
        "--timeout=180s",
        f"--values={values}",
    )
    output.result(values.read_text())


def _forget_interrupted(tools: Tools) -> None:
    """A run that was ended in the middle of helm leaves a release that helm refuses to touch: take it away."""
    releases = json.loads(tools.run("helm", "list", "-n", SYSTEM, "--pending", "-o", "json"))
    if any(release["name"] == "arriero" for release in releases):
        tools.run("helm", "uninstall", "arriero", "-n", SYSTEM, "--wait")


def _values(images: Images, endpoint: str) -> dict[str, Any]:
    """The chart's values: this cluster's images, and the hub as an air-gapped company sets its mirror."""
    repository, _, tag = images.operator.rpartition(":")
    return {
        "image": {"repository": repository, "tag": tag},
        "profiles": {"cpu": {"image": images.runtime_cpu}},
        "hub": {"endpoint": endpoint},
    }


def _namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": _RESTRICTED}}


def _remove_models(tools: Tools) -> None:
    """Remove what an earlier run left, and wait until its pods have drained."""
    tools.run("kubectl", "delete", "im", *MODELS, "-n", NAMESPACE, "--ignore-not-found")
    selector = f"arriero.dev/model in ({','.join(MODELS)})"

    def gone() -> bool:
        return not tools.get("pods,services,deployments", "-n", NAMESPACE, "-l", selector)["items"]

    until(gone, _GONE_SECONDS, "the models of an earlier run are gone", every=0.5)
