"""The channel never makes its sender wait, and passes over what it does not know."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from arriero_api.contract import Failure, Phase, Progress, RuntimeStatus
from arriero_runtime.channel import FD_VARIABLE, PENDING_BYTES, Channel, pair
from arriero_runtime.messages import (
    Drain,
    Drained,
    Failed,
    GiveUp,
    Heartbeat,
    Message,
    MessageError,
    MetricsSnapshot,
    Status,
    decode,
    encode,
)

MESSAGES: list[Message] = [
    Status(RuntimeStatus(Phase.DOWNLOADING, Progress(7, "π"), commit="c0ffee", names=("a", "b"))),
    Heartbeat(0.5, 2, 30, 4, 1),
    MetricsSnapshot("one 1\ntwo 2\n"),
    Failed(Failure("ModelNotFound", "no", "mend", Phase.RESOLVING, {"n": 3})),
    Drained(3, 1),
    Drain(),
    GiveUp(Failure("EngineHung", "no step", "mend", Phase.READY)),
]


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    """Supervisor's and server's end."""
    ours, theirs = pair()
    server = Channel(theirs)
    yield ours, server
    ours.close()
    server.close()


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_arrives_as_it_was_sent(message: Message) -> None:
    line = encode(message)
    assert line.count(b"\n") == 1
    assert decode(line) == message


@pytest.mark.parametrize("line", [b"", b"no", b"[]", b"{}", b'{"type": "Heartbeat"}', b'{"type": "Later"}'])
def test_a_line_that_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises(MessageError):
        decode(line)


def test_unknown_messages_are_passed_over(ends: tuple[Channel, Channel]) -> None:
    supervisor, _ = ends
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b'{"type": "Later"}\n' + encode(Drain()))
        channel = Channel(theirs)
        assert channel.poll() == ([Drain()], True)
    assert supervisor.poll() == ([], True)


def test_sending_to_a_receiver_that_does_not_read_never_waits(ends: tuple[Channel, Channel]) -> None:
    supervisor, server = ends
    began = time.monotonic()
    text = "x" * 100_000
    sent = [server.send(MetricsSnapshot(text)) for _ in range(100)]
    assert not all(sent)
    assert not server.send(Heartbeat())
    assert server.send(Drained(1, 0))
    assert time.monotonic() - began < 5
    received: list[Message] = []
    while Drained(1, 0) not in received:
        received += supervisor.poll()[0]
        server.flush(0)
    assert received[:-1] == [MetricsSnapshot(text)] * sum(sent)


def test_what_is_kept_for_a_receiver_has_a_bound(ends: tuple[Channel, Channel]) -> None:
    _, server = ends
    failed = Failed(Failure("EngineFailed", "x" * 1_000_000, ""))
    sent = [server.send(failed) for _ in range(PENDING_BYTES // 1_000_000 + 3)]
    assert sent[0]
    assert not sent[-1]


def test_messages_wait_in_a_thread_and_end_when_the_other_side_goes(ends: tuple[Channel, Channel]) -> None:
    supervisor, server = ends
    received: list[Message] = []
    thread = threading.Thread(target=lambda: received.extend(server.messages()))
    thread.start()
    supervisor.send(Drain())
    supervisor.close()
    thread.join(10)
    assert not thread.is_alive()
    assert received == [Drain()]


def test_the_other_side_s_end_is_seen_after_its_last_words(ends: tuple[Channel, Channel]) -> None:
    supervisor, server = ends
    server.send(Drained(1, 2))
    server.close()
    assert supervisor.poll() == ([Drained(1, 2)], False)
    assert not supervisor.send(Drain())


def test_the_server_finds_its_end_once_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pair()
    monkeypatch.setenv(FD_VARIABLE, str(theirs.detach()))
    found = Channel.from_environment()
    assert found is not None
    assert Channel.from_environment() is None
    ours.send(Drain())
    assert found.poll() == ([Drain()], True)
    ours.close()
    found.close()
