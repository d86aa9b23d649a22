"""The only package that knows Kopf, which watches the InferenceModels and is the life of the process.

The handler is an `on.event` handler, which keeps no state in the cluster: no finalizer, no annotation, no patch. Events
are taken in by its filter, and it is never called: Kopf makes ready for a call by a context, a state and a dozen views
of the object, which takes longer than all that is done with the event.
"""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

import aiohttp
import kopf
from kopf._cogs.structs.references import Insights, NamespaceName

from arriero_operator.edge.storage import NoDiff, NoProgress
from arriero_operator.kube.collection import PAGE
from arriero_operator.kube.credentials import Credentials
from arriero_operator.kube.paths import path_of
from arriero_operator.kube.protocol import MODELS
from arriero_operator.watching import watches as signs
from arriero_operator.watching.intake import Intake
from arriero_operator.watching.served import Served
from arriero_operator.watching.watches import Watches

LOGIN_LASTS: Final = timedelta(minutes=10)
"""The kubelet renews a token when a fifth of its life is left: at least two minutes, at most hours before its end."""

AT_ONCE: Final = 50
"""Objects of one watch that Kopf handles at the same time: each is whole in memory, and at a start there are thousands.
No handler waits for anything, so that none can hold up another."""
LINGER: Final = 0.02
"""Seconds for which Kopf keeps the last event of an object, and one of those places."""

_BACKOFFS: Final = (1, 1, 2, 3, 5, 8, 13, 21)


async def watch(
    intake: Intake,
    credentials: Credentials,
    served: Served,
    watches: Watches,
    stop: asyncio.Event,
    ready: asyncio.Event,
) -> None:
    """Watch until `stop` is set; `ready` is set once Kopf has begun.

    Any error that Kopf cannot mend by itself is raised: the process must then end and start anew.
    """
    registry = kopf.OperatorRegistry()
    group, _, version = MODELS.api_version.rpartition("/")
    taken = _taken(intake)
    kopf.on.event(group, version, MODELS.plural, id=MODELS.plural, when=taken, registry=registry)(_never)
    kopf.on.login(id="login", registry=registry)(_login(credentials, served, watches))
    insights = Insights()
    adjusting = asyncio.create_task(_adjust(insights, served), name="namespaces of models")
    before = asyncio.all_tasks()
    tasks = await kopf.spawn_tasks(
        registry=registry,
        settings=_settings(),
        standalone=True,
        clusterwide=not served.named,
        namespaces=served.there(),
        insights=insights,
        stop_flag=stop,
        ready_flag=ready,
    )
    try:
        done, _ = await asyncio.wait([*tasks, adjusting], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            # Kopf would end the other watches first, whose requests wait for a login that does not come any more.
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error
    finally:
        adjusting.cancel()
    await kopf.run_tasks(tasks, ignored=before)


async def _adjust(insights: Insights, served: Served) -> None:
    """Have Kopf watch the namespaces that are served: it looks by itself only where it may list all namespaces.

    What it takes for those that there are (`Insights`) is its own way to end watches and to begin them, though no part
    of its public API."""
    await insights.ready_namespaces.wait()
    while served.named:
        change = served.change
        async with insights.revised:
            insights.namespaces.clear()
            insights.namespaces.update(map(NamespaceName, served.there()))
            insights.revised.notify_all()
        await change.wait()
    await asyncio.Event().wait()


def _taken(intake: Intake) -> Callable[..., bool]:
    def taken(*, event: kopf.RawEvent, **_: Any) -> bool:
        intake(MODELS, event["type"], dict(event["object"]))
        return False

    return taken


async def _never(**_: Any) -> None:
    """All is done by the filter."""


def _login(credentials: Credentials, served: Served, watches: Watches) -> Callable[..., Awaitable[kopf.AiohttpSession]]:
    async def login(**_: Any) -> kopf.AiohttpSession:
        who = await credentials.identity()
        scheme, __, token = who.authorization.partition(" ")
        info = kopf.ConnectionInfo(
            server=who.server,
            ca_path=who.ca_path or None,
            insecure=not who.verify,
            scheme=scheme or None,
            token=token or None,
            certificate_path=who.certificate_path or None,
            private_key_path=who.key_path or None,
            proxy_url=who.proxy or None,
        )
        return kopf.AiohttpSession(
            server=who.server,
            aiohttp_session=_session(info, who.server_name, served, watches),
            expiration=datetime.now(UTC) + LOGIN_LASTS if token else None,
        )

    return login


def _session(info: kopf.ConnectionInfo, server_name: str, served: Served, watches: Watches) -> aiohttp.ClientSession:
    """Kopf's own session but for its tracing, and for the name that the server has to prove; Kopf closes it."""

    async def sent(_: object, __: object, request: aiohttp.TraceRequestStartParams) -> None:
        watches.requested(request.url.path, stream=request.url.query.get("watch") == "true")

    async def named(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        request.server_hostname = server_name
        return await send(request)

    async def patient(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        """A refusal in one of several namespaces is not Kopf's to know, which would end all: `_adjust` ends its watch,
        and what it had asked for is asked again should it not."""
        while True:
            response = await send(request)
            place = _place(request.url.path, served)
            if response.status != HTTPStatus.FORBIDDEN or not place or not served.lose(place, await _message(response)):
                return response
            response.release()
            await served.until(place, served=True)

    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(sent)
    connector = aiohttp.TCPConnector(limit=0, ssl=info.as_ssl_context())
    return aiohttp.ClientSession(
        connector=connector,
        headers=info.as_http_headers(),
        trace_configs=[trace],
        proxy=info.proxy_url,
        middlewares=[patient, *([named] if server_name else [])],
    )


def _place(path: str, served: Served) -> str:
    """The named namespace in which a request asks for models; empty: in none."""
    return next((place for place in served.named if path.endswith(path_of(MODELS, place))), "")


async def _message(response: aiohttp.ClientResponse) -> str:
    """What the API server says of a refusal; its body can be read once more."""
    try:
        return str(json.loads(await response.read())["message"])
    except (ValueError, KeyError, TypeError):
        return f"answer {response.status}"


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.persistence.diffbase_storage = NoDiff()
    settings.persistence.progress_storage = NoProgress()
    # Nothing of the cluster is listed but what is watched.
    settings.scanning.disabled = True
    settings.watching.server_timeout = random.randint(*signs.STREAM)
    settings.watching.inactivity_timeout = signs.INACTIVITY
    settings.watching.chunk_size = PAGE
    settings.queueing.worker_limit = AT_ONCE
    settings.queueing.idle_timeout = LINGER
    # An event that cannot be taken in is logged, and delays no other of its object.
    settings.queueing.error_delays = (0,)
    settings.watching.connect_timeout = 10
    settings.networking.request_timeout = 60
    settings.networking.connect_timeout = 10
    # About a minute; then the process ends and the kubelet waits in its stead.
    settings.networking.error_backoffs = _BACKOFFS
    settings.posting.enabled = False
    settings.execution.max_workers = 1
    settings.process.ultimate_exiting_timeout = 30
    return settings
