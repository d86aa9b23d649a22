"""Addresses that clients write into messages lead to nothing inside, with vLLM's own client for media."""

import http.server
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.images import environment
from tests.cluster.images.paths import CHECKOUT
from tests.support.threaded import http_server

PROGRAM = Path(__file__).with_name("inside_media.py")
PRIVATE = (
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1"),
    *(
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fd00::1",
        "::ffff:10.0.0.1",
        "::ffff:127.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b:1::a00:1",
        "::127.0.0.1",
        "fec0::1",
        "2002:a00:1::",
    ),
)
PUBLIC = ("1.1.1.1", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808")


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_of_the_inside_is_known_as_such(address: str) -> None:
    from arriero_runtime.engine.vllm.media import is_public

    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_internet_is_known_as_such(address: str) -> None:
    from arriero_runtime.engine.vllm.media import is_public

    assert is_public(address)


class Inside(http.server.BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(302 if self.path == "/away" else 200)
        self.send_header("location", "/secret")
        self.send_header("content-length", "6")
        self.end_headers()
        self.wfile.write(b"secret")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def inside() -> Iterator[tuple[int, list[str]]]:
    """A web server of the inside: its port, and what it was asked for."""
    asked: list[str] = []
    handler = type("Handler", (Inside,), {"asked": asked})
    with http_server(handler) as port:
        yield port, asked


def fetched(urls: list[str], *domains: str) -> list[str]:
    packages = environment.python_with(environment.runtime(), CHECKOUT / "crds", CHECKOUT / "runtime")
    done = subprocess.run(
        [environment.PYTHON, "-W", "ignore", PROGRAM, ",".join(urls), *domains],
        env={**packages, "VLLM_MEDIA_FETCH_MAX_RETRIES": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    found = [line.split(" ", 1)[1] for line in done.stdout.splitlines() if line.split(" ", 1)[0] in urls]
    assert len(found) == len(urls), done.stdout + done.stderr
    return found


@pytest.mark.full
def test_nothing_inside_is_asked_whatever_leads_there(inside: tuple[int, list[str]]) -> None:
    port, asked = inside
    ways = [f"http://{host}:{port}/secret" for host in ("127.0.0.1", "localhost", "rebound.example", "[::1]", "127.1")]
    for answer in fetched(ways):
        assert "secret" not in answer
    assert asked == []


@pytest.mark.full
def test_a_domain_that_is_allowed_is_asked_but_leads_nowhere_else(inside: tuple[int, list[str]]) -> None:
    port, asked = inside
    urls = [f"http://localhost:{port}/secret", f"http://localhost:{port}/away"]
    assert fetched(urls, "localhost")[0] == "secret"
    assert asked == ["/secret", "/away"], "a redirect is not followed"
