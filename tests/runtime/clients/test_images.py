"""Images on the Llama Stack route reach a model that sees, with the real engine."""

import base64
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests import models
from tests.cluster.images import environment
from tests.support.live import live

pytestmark = pytest.mark.full


def png(colour: tuple[int, int, int], side: int = 56) -> str:
    """A square of one colour, in base64."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\x00" + bytes(colour) * side for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    whole = b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")
    return base64.b64encode(whole).decode()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("vision")
    arguments = ["--max-model-len=512"]
    with live(models.vision(), folder, arguments, packages=[environment.vision()]) as server, server.client() as found:
        yield found


def asked(client: httpx.Client, image: dict[str, Any], **more: Any) -> httpx.Response:
    content = [{"type": "image", "image": image}, {"type": "text", "text": "What is it?"}]
    request = {
        "model_id": "one",
        "messages": [{"role": "user", "content": content}],
        "sampling_params": {"max_tokens": 8},
    }
    return client.post("/v1/inference/chat-completion", json={**request, **more})


def prompt_tokens(answer: httpx.Response) -> int:
    assert answer.status_code == 200, answer.text
    found = {one["metric"]: one["value"] for one in answer.json()["metrics"]}
    return int(found["prompt_tokens"])


def test_an_image_is_part_of_the_prompt_as_data_and_as_an_address_of_data(client: httpx.Client) -> None:
    data = png((200, 30, 30))
    plain = asked(client, {"data": data}, messages=[{"role": "user", "content": "What is it?"}])
    as_data = asked(client, {"data": data}, logprobs={"top_k": 1})
    as_address = asked(client, {"url": {"uri": f"data:image/png;base64,{data}"}})
    assert prompt_tokens(as_data) == prompt_tokens(as_address) >= prompt_tokens(plain) + 16
    assert as_data.json()["completion_message"] == as_address.json()["completion_message"]


def test_another_image_is_another_prompt(client: httpx.Client) -> None:
    values = [
        next(iter(asked(client, {"data": png(colour)}, logprobs={"top_k": 0}).json()["logprobs"][0].values()))
        for colour in ((200, 30, 30), (10, 10, 240))
    ]
    assert values[0] != values[1]


def test_what_is_no_image_is_the_callers_fault(client: httpx.Client) -> None:
    broken = base64.b64encode(b"\x89PNG\r\n\x1a\nno more").decode()
    for image in (
        {"data": broken},
        {"url": {"uri": "file:///etc/passwd"}},
        {"url": {"uri": "http://127.0.0.1:1/x.png"}},
    ):
        assert asked(client, image).status_code == 400
