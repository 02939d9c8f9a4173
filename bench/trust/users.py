# SPDX-License-Identifier: Apache-2.0
"""A daemon, and processes of several users that send messages to the daemon; both need root.

A user is represented by a process with the user's uid, which the daemon gets from the kernel, as for sbatch.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reprise.database import Database
from reprise.database.entities import Record
from reprise.matcher.wire import protocol
from tests.unit.matcher_daemon import Daemon, record
from tests.waiting import wait_for

ALICE = 2001
"""The victim's uid. No account with this uid is needed: the daemon uses the number as the user's name."""
MALLORY = 3001
"""The first attacker's uid; further attackers have the following numbers."""
ROOT = 0
NOT_NOW_PAUSE_S = 0.02
TRIES = 500


class Speaker:
    """A process of `uid`, forked from this process, that forwards messages to the daemon at `path`."""

    def __init__(self, path: Path, uid: int) -> None:
        ours, theirs = socket.socketpair()
        self.uid = uid
        self._pid = os.fork()
        if self._pid == 0:
            ours.close()
            _serve(theirs, path, uid)
        theirs.close()
        self._socket = ours
        self._stream = ours.makefile("rwb")

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send a message and return the reply; send it again while the reply says "not now"."""
        for _ in range(TRIES):
            reply = self.ask_once(message)
            if not (reply.get("kind") == "error" and str(reply.get("reason", "")).startswith("not now")):
                return reply
            time.sleep(NOT_NOW_PAUSE_S)
        return reply

    def ask_once(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send a message once and return the reply, or `{"kind": "gone"}` if there is none."""
        data = json.dumps(message).encode()
        self._stream.write(len(data).to_bytes(4, "big") + data)
        self._stream.flush()
        size = int.from_bytes(self._stream.read(4), "big")
        return dict(json.loads(self._stream.read(size))) if size else {"kind": "gone"}

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            # Speakers forked later have copies of the socket, so closing it alone would not end the connection.
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        os.waitpid(self._pid, 0)


def _serve(commands: socket.socket, path: Path, uid: int) -> None:
    """Act as the user `uid` until the other end of `commands` is closed, then end the process."""
    try:
        if uid:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        stream = commands.makefile("rwb")
        while header := stream.read(4):
            stream.write(_asked(path, stream.read(int.from_bytes(header, "big"))))
            stream.flush()
    except BaseException as error:  # the child process must not continue the parent's program
        sys.stderr.write(f"user {uid}: {error}\n")
    finally:
        os._exit(0)


def _asked(path: Path, data: bytes) -> bytes:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(10)
            connection.connect(str(path))
            connection.sendall(len(data).to_bytes(protocol.HEADER_BYTES, "big") + data)
            with connection.makefile("rb") as reply:
                header = reply.read(protocol.HEADER_BYTES)
                return header + reply.read(int.from_bytes(header, "big")) if header else bytes(4)
    except OSError:
        return bytes(4)


@contextlib.contextmanager
def speakers(daemon: Daemon, *uids: int) -> Iterator[list[Speaker]]:
    """Run a speaker for each uid, and yield the speakers."""
    found = [Speaker(daemon.socket, uid) for uid in uids]
    try:
        yield found
    finally:
        for one in found:
            one.close()


@contextlib.contextmanager
def serving(directory: Path, *settings: str, records: list[Record]) -> Iterator[Daemon]:
    """Run a daemon with these records and a socket that all users can reach."""
    directory.mkdir(parents=True)
    one = Daemon(directory, *settings)
    one.add(*records)
    one.start()
    try:
        yield one
    finally:
        one.stop()


def of_user(uid: int, **changes: Any) -> Record:
    """Return the record of a campaign that tuned a user's program `lattice`."""
    made = record(**changes)
    return record(**{"metadata": {**made.metadata, "user": str(uid)}, **changes})


def ended(reply: Mapping[str, Any], job: int, uid: int, seconds: float, status: int = 0) -> dict[str, Any]:
    """Return the message that reports the end of the job that got this reply."""
    return {
        **{"v": 1, "kind": "outcome", "state": "ended", "decision": reply.get("id"), "verdict": reply.get("verdict")},
        **{"applied": len(reply.get("env") or ()), "elapsed_s": seconds, "exit_status": status},
        "job": {"id": job, "array_task": None, "uid": uid, "cluster": "test"},
    }


def written(daemon: Daemon, decisions: int, ends: int) -> None:
    """Wait until the database has these numbers of decisions and of ended jobs."""

    def enough() -> bool:
        with Database.open(daemon.database, read_only=True) as database:
            counts = database.counts()
        return counts["decision"] >= decisions and counts["outcome"] >= ends

    wait_for(f"{decisions} decisions and {ends} ends in the database", enough, 300)
