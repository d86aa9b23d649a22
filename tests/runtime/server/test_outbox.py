"""What one turn of the event loop writes to a connection leaves at its end, as one packet."""

import asyncio
from typing import Any, cast

from arriero_runtime.server.outbox import FULL, Outbox, Turn, turn_of


class Transport:
    """FAKE: notes what is done with it, in a list that several may share."""

    def __init__(self, done: list[Any]) -> None:
        self.done = done
        self.closing = False

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.done.append("closed")
        self.closing = True

    def get_extra_info(self, name: str) -> str:
        return name


def box(done: list[Any], turn: Turn | None = None) -> tuple[Outbox, Transport]:
    transport = Transport(done)
    return Outbox(cast(asyncio.Transport, transport), turn or Turn()), transport


async def test_what_is_written_in_one_turn_is_one_packet_and_the_next_turn_is_another() -> None:
    done: list[Any] = []
    own, _ = box(done)
    for data in (b"head", b"first", b"second"):
        own.write(data)
    assert done == []
    await asyncio.sleep(0)
    assert done == [b"headfirstsecond"]
    own.write(b"third")
    await asyncio.sleep(0)
    assert done == [b"headfirstsecond", b"third"]


async def test_all_connections_send_together_in_the_order_in_which_they_began() -> None:
    done: list[Any] = []
    turn = Turn()
    one, other = (box(done, turn)[0] for _ in range(2))
    one.write(b"a")
    other.write(b"b")
    one.write(b"c")
    await asyncio.sleep(0)
    assert done == [b"ac", b"b"]


async def test_much_is_sent_before_the_turn_ends() -> None:
    done: list[Any] = []
    own, _ = box(done)
    own.write(b"x" * FULL)
    assert done == []
    own.write(b"y")
    assert done == [b"x" * FULL + b"y"]
    await asyncio.sleep(0)
    assert len(done) == 1


async def test_what_was_written_is_sent_before_the_connection_is_closed() -> None:
    done: list[Any] = []
    own, _ = box(done)
    own.write(b"last words")
    own.close()
    assert done == [b"last words", "closed"]
    await asyncio.sleep(0)
    assert len(done) == 2


async def test_nothing_is_written_to_a_connection_that_has_ended_meanwhile() -> None:
    done: list[Any] = []
    own, transport = box(done)
    own.write(b"late")
    transport.closing = True
    await asyncio.sleep(0)
    assert done == []


def test_all_else_is_the_transports_own() -> None:
    own, _ = box([])
    assert own.get_extra_info("peername") == "peername"


def test_each_server_has_one_turn() -> None:
    class Server:
        pass

    one, other = Server(), Server()
    assert turn_of(one) is turn_of(one)
    assert turn_of(one) is not turn_of(other)
