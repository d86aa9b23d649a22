"""The watch outlives its credentials: a service account's token is replaced while the operator runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from arriero_operator import edge
from arriero_operator.cache.store import Cache
from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.credentials import Credentials
from arriero_operator.kube.protocol import MODELS
from arriero_operator.watching.intake import Intake
from arriero_operator.watching.news import Expected
from arriero_operator.watching.served import Served
from arriero_operator.watching.watches import Watches
from arriero_operator.work.keys import Key
from tests.operator.machinery.test_edge import model
from tests.support.eventually import eventually_async
from tests.support.kubectl import Kubectl
from tests.support.operator import operator_kubeconfig

pytestmark = pytest.mark.control_plane


@asynccontextmanager
async def watching(kubeconfig: Path, namespace: str, keys: list[Key]) -> AsyncIterator[asyncio.Task[None]]:
    stop, ready = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(
        edge.watch(
            Intake(Cache(), Expected(), lambda key, routine=False: keys.append(key), keys.append, lambda kind: None),
            Credentials(kubeconfig),
            Served((namespace,)),
            Watches((namespace,)),
            stop,
            ready,
        )
    )
    await ready.wait()
    yield task
    stop.set()
    await task


async def test_the_watch_logs_in_again_before_its_token_ends_and_misses_nothing(
    kube: ApiServer, kubectl: Kubectl, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge, "LOGIN_LASTS", timedelta(seconds=1))
    settings = edge._settings()
    settings.watching.server_timeout = 1
    monkeypatch.setattr(edge, "_settings", lambda: settings)
    kubeconfig = operator_kubeconfig(kubectl, tmp_path)
    reads: list[str] = []
    identity = Credentials.identity

    async def counted(self: Credentials) -> object:
        found = await identity(self)
        reads.append(found.authorization)
        return found

    monkeypatch.setattr(Credentials, "identity", counted)
    keys: list[Key] = []
    async with watching(kubeconfig, namespace, keys) as task:
        for name in ("a", "b", "c", "d"):
            logins = len(reads)
            await eventually_async(partial(_longer, reads, logins))
            created = model(name)
            created["metadata"]["namespace"] = namespace
            await kube.create(MODELS, created)
            await eventually_async(partial(keys.__contains__, (namespace, name)))
        assert not task.done()


def _longer(found: list[str], than: int) -> bool:
    return len(found) > than
