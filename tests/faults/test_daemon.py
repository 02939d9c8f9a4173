# SPDX-License-Identifier: Apache-2.0
"""Test that a job runs as without the plugin if the daemon is killed or suspended at any point of a conversation."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.life import BOUND_MS, Job, assert_unharmed, slow_hooks
from tests.spank.daemon import decision, frame

WHOLE = frame(json.dumps(decision("apply", {"SRO_A": "1"})).encode())
PEER = """
import os, socket, sys
path, point, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
reply = bytes.fromhex(sys.argv[4])
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen()
print("listening", flush=True)
def now(here):
    if here == point:
        os.kill(os.getpid(), number)
now("before-the-question")
while True:
    peer, _ = server.accept()
    now("once-connected")
    peer.recv(4)
    now("within-the-question")
    while peer.recv(65536, socket.MSG_DONTWAIT | socket.MSG_PEEK) and len(peer.recv(65536)) == 65536:
        pass
    now("before-the-reply")
    peer.sendall(reply[:9])
    now("within-the-reply")
    peer.sendall(reply[9:])
    now("after-the-reply")
    peer.close()
"""
POINTS = ["before-the-question", "once-connected", "within-the-question", "before-the-reply", "within-the-reply"]


@contextlib.contextmanager
def process(path: Path, point: str, number: signal.Signals) -> Iterator[None]:
    words = [sys.executable, "-S", "-E", "-c", PEER, str(path), point, str(int(number)), WHOLE.hex()]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as peer:
        assert peer.stdout and peer.stdout.readline() == b"listening\n"
        try:
            yield
        finally:
            peer.kill()


@pytest.mark.parametrize("point", POINTS)
def test_killed(job: Job, point: str) -> None:
    with process(job.stub.socket, point, signal.SIGKILL):
        assert_unharmed(job)


@pytest.mark.parametrize("point", POINTS)
def test_stopped(job: Job, point: str) -> None:
    with process(job.stub.socket, point, signal.SIGSTOP):
        assert_unharmed(job, waits=True)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_killed_or_stopped_after_the_reply(job: Job, number: signal.Signals) -> None:
    """The daemon's reply is used, even though the daemon does not get the job's later reports."""
    with process(job.stub.socket, "after-the-reply", number):
        life = job.live()
    assert life.environment == job.live(plugin=False).environment | {"SRO_A": "1", "REPRISE_DECISION": "d-1"}
    assert life.log == []
    assert slow_hooks(life, job.deadline_ms + 4 * BOUND_MS) == {}
