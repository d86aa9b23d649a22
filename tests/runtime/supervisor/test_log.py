"""The log is a copy, and nobody who reads it can stop the server."""

import os
import select
import subprocess

from arriero_runtime.supervisor.log import Copy, Lines, write_fully
from tests.runtime.supervisor.conftest import Starter


def test_every_byte_of_the_server_is_in_the_log(start: Starter) -> None:
    supervised = start("writes_odd_bytes")
    supervised.ended()
    written = bytes(range(256)) + "naïve\r50%\r100%\n".encode()
    assert supervised.log.read_bytes().startswith(written)
    assert b"no end of line" in supervised.log.read_bytes()


def test_a_reader_that_does_not_read_stops_neither_server_nor_supervisor(start: Starter) -> None:
    supervised = start("floods_its_log", stdout=subprocess.PIPE, log_bytes=1024 * 1024, last_words=1)
    supervised.until_ready()
    assert "arriero_runtime_log_dropped_bytes_total 0.0" not in supervised.get("/metrics")[1]
    supervised.stop()
    assert supervised.ended() == 0
    assert supervised.process.stdout is not None
    supervised.process.stdout.close()


def test_a_slow_reader_is_told_what_it_has_missed() -> None:
    read, write = os.pipe()
    got = bytearray()

    def sink(chunk: bytes) -> None:
        os.read(read, 1)
        got.extend(chunk)

    copy = Copy("slow", 10, sink, tell_gaps=True)
    for _ in range(5):
        copy.offer(b"12345678")
    os.write(write, b"x" * 5)
    assert copy.close(5)
    assert copy.dropped_total > 0
    assert b" bytes of log were dropped: its reader is too slow\n" in got
    assert got.endswith(b"12345678")
    os.close(read)
    os.close(write)


def test_nothing_is_lost_where_the_log_goes_into_a_full_pipe_that_does_not_wait() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    written = os.urandom(1024 * 1024)
    copy = Copy("full", 2 * len(written), write_fully(write))
    copy.offer(written)
    got = bytearray()
    while len(got) < len(written) and select.select([read], [], [], 10)[0]:
        got += os.read(read, 4096)
    assert copy.close(5)
    assert got == written
    os.close(read)
    os.close(write)


def test_lines_are_cut_at_every_kind_of_end_and_across_chunks() -> None:
    lines: list[str] = []
    cut = Lines(lines.append)
    for chunk in (b"on", b"e\ntwo\rthr", b"ee\n\xff", b" last"):
        cut(chunk)
    cut.finish()
    assert lines == ["one", "two", "three", "\N{REPLACEMENT CHARACTER} last"]
