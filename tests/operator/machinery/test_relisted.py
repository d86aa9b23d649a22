"""What goes while a watch is away is noticed after it has listed anew, in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Callable

from arriero_operator.cache.store import Cache
from arriero_operator.kube.errors import KubeError, Unavailable
from arriero_operator.kube.protocol import MODELS, PODS, Object, Scope
from arriero_operator.watching.resync import PERIOD, SETTLE, Resync
from arriero_operator.watching.served import Served
from tests.operator.machinery.objects import make
from tests.support.virtual_time import run_virtual


class Server:
    """Pods by name, and nothing else; `meanwhile` is called, once each, while the answer to a list is on its way."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)
        self.meanwhile: list[Callable[[], None]] = []
        self.fails: list[KubeError] = []
        self.lists = 0
        self.expires: list[set[str]] = []
        """Of the next lists: names that a first page has, before it begins anew with another version."""

    async def listing(self, scope: Scope) -> AsyncIterator[tuple[str, list[Object]]]:
        self.lists += 1
        if self.fails:
            raise self.fails.pop(0)
        found = [make(PODS, name, 1) for name in sorted(self.names)] if scope.kind is PODS else []
        if self.meanwhile:
            self.meanwhile.pop(0)()
        if self.expires:
            yield "1", [make(PODS, name, 1) for name in sorted(self.expires.pop(0))]
        yield "2", found


def play(server: Server, script: Callable[[Resync, Cache], None]) -> list[str]:
    """The pods that are known some time after `script`, but before everything is compared anyway."""
    cache = Cache()
    for name in sorted(server.names):
        cache.put(PODS, make(PODS, name, 1))

    async def main() -> None:
        resync = Resync(server, cache, lambda key, routine=False: None, Served(()), lambda kind: None)  # type: ignore[arg-type]
        running = asyncio.create_task(resync.run())
        script(resync, cache)
        await asyncio.sleep(PERIOD / 2)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtual(main())
    return [pod["metadata"]["name"] for pod in cache.all(PODS)]


def test_a_watch_that_lists_anew_while_its_kind_is_compared_has_it_compared_once_more() -> None:
    server = Server("x", "y")

    def script(resync: Resync, cache: Cache) -> None:
        def goes() -> None:
            server.names.discard("y")
            resync.relisted(PODS)

        server.meanwhile.append(goes)
        resync.relisted(PODS)

    assert play(server, script) == ["x"]
    assert server.lists == 2


def test_a_comparison_that_fails_is_tried_again() -> None:
    server = Server("x", "y")
    server.fails = [Unavailable("away"), Unavailable("away")]

    def script(resync: Resync, cache: Cache) -> None:
        server.names.discard("y")
        resync.relisted(PODS)

    assert SETTLE * 3 < PERIOD / 2
    assert play(server, script) == ["x"]
    assert server.lists == 3


def test_a_list_that_begins_anew_in_its_middle_is_compared_once_more() -> None:
    server = Server("x", "y")
    server.expires = [{"y"}]

    def script(resync: Resync, cache: Cache) -> None:
        server.names.discard("y")
        resync.relisted(PODS)

    assert play(server, script) == ["x"]
    assert server.lists == 2


async def test_a_model_of_another_operator_that_is_gone_is_forgotten_where_its_namespace_is_compared() -> None:
    cache = Cache()
    foreign = [
        make(MODELS, name, 1, namespace=name, spec={"operatorClass": "theirs"}) for name in ("compared", "elsewhere")
    ]
    for obj in foreign:
        cache.put(MODELS, obj)
        assert cache.has(MODELS, obj)
    resync = Resync(Server(), cache, lambda key, routine=False: None, Served(("compared",)), lambda kind: None)  # type: ignore[arg-type]
    await resync.repair()
    assert [cache.has(MODELS, obj) for obj in foreign] == [False, True]
