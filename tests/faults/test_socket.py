# SPDX-License-Identifier: Apache-2.0
"""Test that a job runs as without the plugin if another file is in place of the daemon's socket."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.life import Job, assert_unharmed
from tests.faults.links import link_to_itself, link_to_the_zero_device
from tests.spank.daemon import FakeDaemon


def bound(path: Path, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind(str(path))
    return server


def nothing(path: Path) -> None:
    pass


def socket_of_a_dead_daemon(path: Path) -> None:
    bound(path).close()


def link_to_nothing(path: Path) -> None:
    path.symlink_to("nowhere")


def long_file(path: Path) -> None:
    path.write_bytes(b"\0" * 100_000)


ABSENT: dict[str, Callable[[Path], object]] = {
    "nothing": nothing,
    "regular-file": Path.touch,
    "long-file": long_file,
    "directory": Path.mkdir,
    "fifo": os.mkfifo,
    "dangling-link": link_to_nothing,
    "link-to-itself": link_to_itself,
    "device": link_to_the_zero_device,
    "stale-socket": socket_of_a_dead_daemon,
}


@pytest.mark.parametrize("fault", ABSENT)
def test_in_the_place_of_the_socket(job: Job, fault: str) -> None:
    ABSENT[fault](job.stub.socket)
    assert_unharmed(job)


@pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_SEQPACKET], ids=["datagram", "seqpacket"])
def test_a_socket_of_another_kind(job: Job, kind: socket.SocketKind) -> None:
    with bound(job.stub.socket, kind):
        assert_unharmed(job)


def test_a_socket_that_nobody_listens_on(job: Job) -> None:
    with bound(job.stub.socket):
        assert_unharmed(job)


PLACES = {
    "missing-directory": "{directory}/missing/m.sock",
    "a-file-as-directory": "{directory}/job.sh/m.sock",
    "too-long": "/" + "x" * 200,
    "a-name-too-long": "{directory}/" + "x" * 300,
    "relative": "m.sock",
    "empty": "",
    "the-root": "/",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_path_that_leads_nowhere(job: Job, place: str) -> None:
    path = PLACES[place].format(directory=job.stub.directory)
    kill_switch = f"plugstack kill_switch={job.stub.directory}/disabled"
    lines = [f"plugstack endpoint=unix:{path}", kill_switch, "call init", "call init_post_opt"]
    played = job.stub.play("context allocator", *lines)
    assert played.carried is None
    assert set(played.own) == {"PATH", "STUB_SCRIPT"}


@contextlib.contextmanager
def mode(path: Path, bits: int) -> Iterator[None]:
    before = path.stat().st_mode
    path.chmod(bits)
    yield
    path.chmod(before)


@pytest.mark.parametrize("bits", [0o000, 0o444], ids=["none", "read-only"])
def test_a_socket_that_we_have_no_permission_for(powerless: Job, bits: int) -> None:
    with FakeDaemon(powerless.stub.socket).listening() as daemon, mode(powerless.stub.socket, bits):
        assert_unharmed(powerless)
        assert daemon.asked == []


@pytest.mark.skipif(os.geteuid() != 0, reason="makes another user the owner")
def test_a_socket_of_the_wrong_owner(powerless: Job) -> None:
    with FakeDaemon(powerless.stub.socket).listening() as daemon, mode(powerless.stub.socket, 0o700):
        os.chown(powerless.stub.socket, 65534, 65534)
        assert_unharmed(powerless)
        assert daemon.asked == []


def test_a_directory_that_we_may_not_enter(powerless: Job) -> None:
    inside = powerless.stub.directory / "closed"
    inside.mkdir()
    powerless.stub.socket = inside / "m.sock"
    with FakeDaemon(powerless.stub.socket).listening() as daemon, mode(inside, 0):
        assert_unharmed(powerless)
        assert daemon.asked == []


def test_a_backlog_that_is_full(job: Job) -> None:
    with contextlib.ExitStack() as open_ones:
        open_ones.enter_context(bound(job.stub.socket)).listen(0)
        for _ in range(2):
            client = open_ones.enter_context(socket.socket(socket.AF_UNIX))
            client.setblocking(False)
            client.connect_ex(str(job.stub.socket))
        assert_unharmed(job, waits=True)
