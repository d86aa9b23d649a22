"""What a kubeconfig says of the way to the API server, which is a fake here: a cluster has only one way."""

import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web

from arriero_operator import edge
from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.credentials import Credentials
from arriero_operator.kube.errors import Unavailable
from arriero_operator.kube.protocol import CONFIG_MAPS, Object
from arriero_operator.watching.served import Served
from arriero_operator.watching.watches import Watches
from tests.cluster.certificates import Authority

NAME = "api.elsewhere"
OBJECT: Object = {"metadata": {"namespace": "n", "name": "a"}}


@dataclass
class FakeApi:
    """Answers with one object; remembers what it was asked for, by whom and with which content."""

    asked: list[str] = field(default_factory=list)
    users: list[Any] = field(default_factory=list)
    contents: list[tuple[str, Any]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        assert request.transport is not None
        self.asked.append(str(request.url))
        known = request.transport.get_extra_info("peercert") or {}
        self.users.append(dict(one[0] for one in known.get("subject", ())))
        if text := await request.text():
            self.contents.append((request.content_type, json.loads(text)))
        return web.json_response(OBJECT)


Start = Callable[[FakeApi, ssl.SSLContext | None], Awaitable[int]]
Get = Callable[[ApiServer, Path], Awaitable[Object]]
Connect = Callable[[Object, Object], Awaitable[ApiServer]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Serves the fake; the port."""
    runners: list[web.AppRunner] = []

    async def serve(fake: FakeApi, context: ssl.SSLContext | None) -> int:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", fake.answer)
        runner = web.AppRunner(app)
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        port: int = runner.addresses[0][1]
        return port

    yield serve
    for runner in runners:
        await runner.cleanup()


@pytest.fixture
async def connect(tmp_path: Path) -> AsyncIterator[Connect]:
    """Connects by a kubeconfig with this cluster and user."""
    found: list[ApiServer] = []

    async def connected(cluster: Object, user: Object) -> ApiServer:
        config = {
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "c",
        }
        path = tmp_path / "config"
        path.write_text(yaml.safe_dump(config))
        found.append(await ApiServer.connect(Credentials(path)))
        return found[-1]

    yield connected
    for api in found:
        await api.close()


async def by_client(api: ApiServer, config: Path) -> Object:
    """What the operator's own client is answered."""
    return await api.get(CONFIG_MAPS, "n", "a")


async def by_kopf(api: ApiServer, config: Path) -> Object:
    """What Kopf is answered, by the session that it is given."""
    given = await edge._login(Credentials(config), Served(()), Watches(()))()
    async with given.aiohttp_session as session:
        try:
            answer = await session.get(f"{given.server}/api/v1/namespaces/n/configmaps/a")
        except aiohttp.ClientConnectorError as error:
            raise Unavailable(str(error), 0) from error
        found: Object = await answer.json()
    return found


either = pytest.mark.parametrize("get", [by_client, by_kopf])


@either
@pytest.mark.parametrize(
    ("said", "reached"),
    [({"tls-server-name": NAME}, True), ({}, False), ({"insecure-skip-tls-verify": True}, True)],
    ids=["by the name that it is to have", "by another name", "unverified"],
)
async def test_a_server_is_believed_by_its_certificate_and_knows_the_client_by_its_own(
    get: Get, said: Object, reached: bool, start: Start, connect: Connect, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    served, client = authority.server("api", (NAME,)), authority.client("me", "someone")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.certificate))
    context.load_cert_chain(served.certificate, served.key)
    context.verify_mode = ssl.CERT_REQUIRED
    fake = FakeApi()
    server = f"https://127.0.0.1:{await start(fake, context)}"
    user = {"client-certificate": str(client.certificate), "client-key": str(client.key)}
    trusted = {} if "insecure-skip-tls-verify" in said else {"certificate-authority": str(authority.certificate)}
    api = await connect({"server": server, **trusted, **said}, user)
    if reached:
        assert await get(api, tmp_path / "config") == OBJECT
        assert fake.users == [{"commonName": "someone"}]
    else:
        with pytest.raises(Unavailable, match="certificate"):
            await get(api, tmp_path / "config")
        assert fake.users == []


@either
async def test_requests_go_through_the_proxy_that_the_kubeconfig_names(
    get: Get, start: Start, connect: Connect, tmp_path: Path
) -> None:
    fake = FakeApi()
    proxy = f"http://127.0.0.1:{await start(fake, None)}"
    api = await connect({"server": f"http://{NAME}", "proxy-url": proxy}, {"token": "t"})
    assert await get(api, tmp_path / "config") == OBJECT
    assert fake.asked == [f"http://{NAME}/api/v1/namespaces/n/configmaps/a"]


async def test_what_is_written_arrives_as_it_was_said(start: Start, connect: Connect) -> None:
    fake = FakeApi()
    api = await connect({"server": f"http://127.0.0.1:{await start(fake, None)}"}, {"token": "t"})
    said = {"data": {"é": 'ñ "}]\u2028 \U0001f999', "half": "\ud83e", "": "\x00"}}
    await api.create(CONFIG_MAPS, {**OBJECT, **said})
    await api.apply(CONFIG_MAPS, {**OBJECT, **said}, manager="m")
    await api.merge_patch(CONFIG_MAPS, "n", "a", said)
    assert [content for content, _ in fake.contents] == [
        "application/json",
        "application/apply-patch+yaml",
        "application/merge-patch+json",
    ]
    assert [body["data"] for _, body in fake.contents] == [said["data"]] * 3
