"""Models from an object store with a Secret's keys and from an image, in pods of a real kubelet."""

from collections.abc import Iterator

import pytest

from tests.cluster.images.containerd import Containerd
from tests.cluster.images.image import Image
from tests.cluster.images.layer import Layer
from tests.demo.install import Stage
from tests.e2e.conftest import READY_SECONDS, Start, example
from tests.models import tiny
from tests.operator.reconcile.models import until
from tests.sources.objects import BUCKET, KEYS, Objects, s3_server
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object

pytestmark = [pytest.mark.node, pytest.mark.engine, pytest.mark.full]

NAME = "sourced"
SECRET = "store"


@pytest.fixture(autouse=True)
def gone(kubectl: Kubectl) -> Iterator[None]:
    """The test's model and its pods are gone afterwards."""
    yield
    kubectl.run("delete", "im", NAME, "--ignore-not-found")
    kubectl.run("delete", "secret", SECRET, "--ignore-not-found")
    eventually(lambda: not kubectl.items("pods", f"arriero.dev/model={NAME}"), 90)


@pytest.fixture
def store(stage: Stage) -> Iterator[Objects]:
    """An S3 server at the node's address, with the model in its bucket."""
    with s3_server(host=stage.cluster.node_address) as found:
        for file in tiny().iterdir():
            found.put_at(f"tiny/{file.name}", file.read_bytes())
        yield found


def _serving(stage: Stage, kubectl: Kubectl, **model: object) -> None:
    """The model becomes Ready and answers."""
    wanted: Object = example(NAME)
    wanted["spec"]["model"] = model
    kubectl.apply(wanted)
    start = Start(kubectl, NAME)
    kubectl.run("wait", f"im/{NAME}", "--for=condition=Ready", f"--timeout={READY_SECONDS}s", timeout=READY_SECONDS + 9)
    assert stage.client.call("ask", start.url, NAME, "Hello")["answer"]


def test_a_bucket_is_asked_with_the_secrets_keys_which_may_come_later(
    stage: Stage, kubectl: Kubectl, store: Objects
) -> None:
    model = example(NAME)
    source = {"uri": f"s3://{BUCKET}/tiny", "credentials": {"secretName": SECRET}}
    model["spec"]["model"] = source
    kubectl.apply(model)
    until(kubectl, NAME, "Ready", "False", "CredentialsMissing", timeout=90)
    keys = [f"--from-literal={key}={value}" for key, value in (KEYS | {"endpoint": store.url}).items()]
    kubectl.run("create", "secret", "generic", SECRET, *keys)
    _serving(stage, kubectl, **source)
    logs = kubectl.run("logs", "-l", f"arriero.dev/model={NAME}", "--tail=-1")
    assert KEYS["secretAccessKey"] not in logs


def test_an_image_is_mounted_and_its_model_served(stage: Stage, kubectl: Kubectl) -> None:
    folder = tiny()
    image = Image("arriero-test-model", [Layer(folder, folder.name, "models")], {})
    Containerd(stage.cluster.containerd_socket, stage.cluster.bin / "ctr").load(image)
    _serving(stage, kubectl, uri=f"oci://{image.full_name}")
