# SPDX-License-Identifier: Apache-2.0
"""Test that a drain ends when all forwarders have answered, and never reports data as safe that may not be."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from reprise.matcher.forwarding.burst_drain import VERSION, DrainError, drain, request, user_of
from reprise.matcher.wire.credentials import CredentialError

Start = Callable[[bytes, float], str]


def rversion(version: bytes) -> bytes:
    return struct.pack("<IBHIH", 13 + len(version), 101, 0xFFFF, 65536, len(version)) + version


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Yield a function that starts a server, given its answer to a drain and a delay in seconds; return an address."""
    with ExitStack() as stack:

        def begin(answer: bytes, delay_s: float) -> str:
            address = str(tmp_path / f"forwarder{time.monotonic_ns()}")
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen()

            def serve() -> None:
                while True:
                    try:
                        connection, _ = listener.accept()
                    except OSError:
                        return
                    with connection:
                        if connection.recv(256) == request(7, 1000):
                            time.sleep(delay_s)
                            with suppress(OSError):  # the client has given up
                                connection.sendall(answer)

            threading.Thread(target=serve, daemon=True).start()
            return address

        yield begin


def test_it_waits_for_the_slowest_forwarder(start: Start) -> None:
    addresses = [start(rversion(VERSION), 0.3), start(rversion(b"unknown"), 0.0)]
    begun = time.monotonic()
    drain(addresses, 7, 1000, 10)
    assert time.monotonic() - begun >= 0.3


def test_each_forwarder_gets_a_proof_of_its_own() -> None:
    made: list[bytes] = []

    def prove(text: bytes) -> bytes:
        made.append(text)
        return b"MUNGE:%d:" % len(made)

    messages = [request(7, 1000, prove) for _ in range(2)]
    assert made == [b"9P2000.L.burst 7 1000 drain"] * 2
    for number, message in enumerate(messages, 1):
        size, kind, _, _, length = struct.unpack_from("<IBHIH", message)
        assert (size, kind, length) == (len(message), 100, len(message) - 13)
        assert message[13:] == b"9P2000.L.burst 7 1000 drain proof=MUNGE:%d:" % number


def test_a_proof_that_cannot_be_made_ends_the_drain(tmp_path: Path) -> None:
    def prove(text: bytes) -> bytes:
        raise CredentialError("munge: no munged")

    with pytest.raises(CredentialError, match="no munged"):
        drain([str(tmp_path / "none")], 7, 1000, 10, prove)


def test_a_server_that_knows_no_burst_buffers_has_none(start: Start) -> None:
    drain([start(struct.pack("<IBHI", 11, 7, 0xFFFF, 22), 0.0)], 7, 1000, 10)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"", "it ended the connection"),
        (rversion(VERSION)[:20], "it ended the connection"),
        (rversion(b"9P2000.L"), "it is no forwarder"),
        (struct.pack("<I", 2**31), "it is no forwarder"),
        (b"\x04\0\0\0", "it is no forwarder"),
    ],
)
def test_a_wrong_answer_is_reported_with_its_forwarder(start: Start, answer: bytes, problem: str) -> None:
    addresses = [start(rversion(VERSION), 0.0), start(answer, 0.0)]
    with pytest.raises(
        DrainError, match=rf"^job 7: data may be missing in the file system \({addresses[1]}: {problem}\)"
    ):
        drain(addresses, 7, 1000, 10)


def test_a_forwarder_that_is_not_ready_in_time_is_reported(start: Start) -> None:
    with pytest.raises(DrainError, match="its data are not in the file system yet"):
        drain([start(rversion(VERSION), 5.0)], 7, 1000, 0.1)


def test_a_forwarder_that_does_not_run_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DrainError, match="No such file or directory"):
        drain([str(tmp_path / "none")], 7, 1000, 10)


def squeue(output: str) -> Callable[[Sequence[str]], str]:
    return lambda _: output


def test_the_user_is_the_one_in_squeue() -> None:
    assert (
        user_of(71, squeue("7                   1001                \n71                  1000                \n"))
        == 1000
    )


@pytest.mark.parametrize("output", ["", "7 1001\n", "71 nobody\n", "71\n"])
def test_a_job_that_squeue_does_not_list_needs_the_option(output: str) -> None:
    with pytest.raises(DrainError, match="job 71: squeue does not list it any more: name its user with --user"):
        user_of(71, squeue(output))
