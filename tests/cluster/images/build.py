"""The two images of the product."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.images import base, digest, environment
from tests.cluster.images.app import SITE_PACKAGES, app
from tests.cluster.images.containerd import Containerd
from tests.cluster.images.image import Image
from tests.cluster.images.layer import Layer
from tests.cluster.images.paths import CHECKOUT

__all__ = ["Images", "build_and_load", "operator_image", "operator_packages", "runtime_cpu_image"]

API = CHECKOUT / "crds" / "arriero_api"
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OPERATOR_START = ("python3", "-m", "arriero_operator")
RUNTIME_START = ("env", "--block-signal=TERM", "--block-signal=INT", "python3", "-m", "arriero_runtime")
PYTHON_ENVIRONMENT = ("PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1")
RUNTIME_ENVIRONMENT = (
    *PYTHON_ENVIRONMENT,
    "DO_NOT_TRACK=1",
    "HF_HUB_DISABLE_TELEMETRY=1",
    "VLLM_NO_USAGE_STATS=1",
)


@dataclass(frozen=True)
class Images:
    """References for a pod's `image`, with imagePullPolicy IfNotPresent."""

    operator: str
    runtime_cpu: str


def operator_image() -> Image:
    """The operator: no engine, no web framework."""
    layers = [base.base(base.OPERATOR), *_operator_layers()]
    return Image("arriero-operator", layers, _config(OPERATOR_START, PYTHON_ENVIRONMENT))


def runtime_cpu_image() -> Image:
    """The runtime with vLLM's CPU build."""
    layers = [
        base.base(base.RUNTIME),
        _dependencies(environment.runtime(), "runtime-cpu.txt"),
        app(API, CHECKOUT / "runtime" / "arriero_runtime"),
    ]
    return Image("arriero-runtime-cpu", layers, _config(RUNTIME_START, RUNTIME_ENVIRONMENT))


def build_and_load(socket: Path, ctr: Path, namespace: str = "k8s.io") -> Images:
    """Make both images from the checkout and have them in the containerd at `socket`.

    After a change of the product's code this takes seconds, and the references change. Raises ClusterError with
    what is missing or the failing command's own words.
    """
    containerd = Containerd(socket, ctr, namespace)
    operator, runtime = operator_image(), runtime_cpu_image()
    for image in (operator, runtime):
        containerd.load(image)
    return Images(operator.reference, runtime.reference)


def operator_packages() -> list[Path]:
    """Folders with the operator and all that it imports, as the image has them."""
    return [layer.source for layer in _operator_layers()]


def _operator_layers() -> list[Layer]:
    return [
        _dependencies(environment.operator(), "operator.txt"),
        app(API, CHECKOUT / "operator" / "arriero_operator"),
    ]


def _dependencies(site_packages: Path, lock: str) -> Layer:
    return Layer(site_packages, digest.of_pins(CHECKOUT / "locks" / lock), SITE_PACKAGES)


def _config(start: Sequence[str], variables: Sequence[str]) -> dict[str, object]:
    return {
        "User": f"{base.USER}:{base.USER}",
        "Env": [PATH, *variables],
        "Entrypoint": list(start),
        "WorkingDir": "/",
    }
