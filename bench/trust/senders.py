# SPDX-License-Identifier: Apache-2.0
"""Processes of other uids that send a daemon floods of requests, or requests at the usual pace of users."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pwd
import random
import select
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Generic, TypeVar

from reprise.matcher.wire import protocol
from tests.unit.matcher_daemon import SCRIPT, request

T = TypeVar("T")

LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Number of letters from which long words are cut. Drawing each letter of a word would take a hundred times as long.
TEXT = 1 << 16
SHORT_WORD = 40
_FORK = multiprocessing.get_context("fork")


def users() -> list[int]:
    """Return the uids of this host's other users."""
    return [entry.pw_uid for entry in pwd.getpwall() if 0 < entry.pw_uid < 60_000]


class Sender(Generic[T]):
    """A process with the uid `uid`, which calls `play` in the directory of the socket at `path`."""

    def __init__(self, uid: int, path: Path, play: Callable[[], T]) -> None:
        self._told, telling = _FORK.Pipe(duplex=False)
        self._process = _FORK.Process(target=_played, args=(uid, path.parent, play, telling), daemon=True)
        self._process.start()
        telling.close()

    def result(self, timeout_s: float = 900.0) -> T:
        """Wait until the function `play` has returned in the process, end the process, and return the result."""
        try:
            if not self._told.poll(timeout_s):
                raise TimeoutError(f"a sender has not ended within {timeout_s:g} s")
            told: T = self._told.recv()
            return told
        finally:
            self.end()

    def is_done(self) -> bool:
        """Return whether the function `play` has returned in the process."""
        return self._told.poll(0)

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()


def _played(uid: int, directory: Path, play: Callable[[], Any], telling: Connection) -> None:
    os.chdir(directory)  # the uid may have no access to a parent of the directory
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    telling.send(play())
    telling.close()


# --- requests


class Words:
    """A source of random words, which differ in each request, so that the daemon's caches are of no use."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - not used for security
        self._text = "".join(self._random.choices(LETTERS, k=TEXT))

    def __call__(self, length: int) -> str:
        """Return a random word with `length` letters."""
        if length < SHORT_WORD:
            return "".join(self._random.choices(LETTERS, k=length))
        start = self._random.randrange(TEXT - length)
        return self._text[start : start + length]


def _frame(script: str, names: Sequence[str] = ()) -> bytes:
    message = request(script)
    return protocol.frame(
        {**message, "submission": {**message["submission"], "set": list(names)}}, protocol.REQUEST_LIMIT
    )


def _srun(command: Iterable[str]) -> bytes:
    message = request(None)
    submission = {**message["submission"], "command": "srun", "argv": ["srun", *command]}
    return protocol.frame({**message, "submission": submission}, protocol.REQUEST_LIMIT)


def small(words: Words) -> bytes:
    """Return a typical request for a decision about a small batch script."""
    return _frame(SCRIPT.replace("lattice", words(8)))


def large(words: Words) -> bytes:
    """Return a request of 246 KB, mostly the program's command line."""
    return _srun([f"./{words(8)}", *(f"--{words(9)}={words(970)}" for _ in range(250))])


def forged(words: Words) -> bytes:
    """Return a report about a job that does not exist."""
    job = {"id": int.from_bytes(words(4).encode()) % 2**31, "array_task": None, "uid": os.getuid(), "cluster": "test"}
    end = {
        "state": "ended",
        "elapsed_s": 1.0,
        "exit_status": 0,
        "decision": words(20),
        "verdict": "apply",
        "applied": 1,
    }
    return protocol.frame({"v": 1, "kind": "outcome", **end, "job": job}, protocol.REQUEST_LIMIT)


def thirty(words: Words, like: str) -> Iterator[bytes]:
    """Yield requests of 30 KB that take long to parse or to compare, each for a different reason.

    `like` is the script of a job that has records.
    """
    while True:
        arguments = " ".join(f"--{words(20)}={words(90)}" for _ in range(250))
        path, inputs = ("/".join(words(6) for _ in range(140)) for _ in range(2))
        yield _frame(f"{SCRIPT[:40]}srun /{path}/{words(9)}.py {inputs} {arguments}\n")
        yield _frame(SCRIPT[:40] + "".join(f"./{words(20)} {words(10)}\n" for _ in range(900)))
        yield _frame(SCRIPT[:40] + f"f() {{ bash -c '{f'./{words(1)}; ' * 1_000}'; }}\n" + "f\n" * 8_000)
        yield _srun([f"/{path}/{words(9)}.py", inputs, *arguments.split()])
        yield _frame(like + "".join(f"FASTIO_{words(6)}=1 " for _ in range(1_900)))
        yield _frame(like + f"# {words(9)}\n", names=[f"FASTIO_{words(5)}" for _ in range(1_900)])


def twelve(words: Words) -> bytes:
    """Return a request with a typical script of 12 KB, which mostly prepares the program's run."""
    lines = "".join(f"cp {words(20)} {words(20)} # {words(40)}\n" for _ in range(130))
    return _frame(f"{SCRIPT[:90]}{lines}srun ./{words(6)} --steps 200\n")


# --- sending requests


@dataclass
class Asked:
    """The results of requests: the times in milliseconds, the decisions' ids, and the number of lost requests.

    `lost` is the number of requests that got no decision in time.
    """

    took_ms: list[float] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    lost: int = 0


def ask(
    frames: Iterable[bytes], name: str, every_s: float, is_enough: Callable[[int], bool], timeout_s: float = 5.0
) -> Asked:
    """Send a request every `every_s` seconds, one after the other, until `is_enough(number of requests)` is true."""
    asked = Asked()
    for number, frame in enumerate(frames):
        if is_enough(number):
            break
        begun = time.perf_counter()
        reply = exchange(name, frame, timeout_s)
        took = time.perf_counter() - begun
        asked.took_ms.append(took * 1e3)
        if reply.get("kind") == "decision":
            asked.ids.append(reply["id"])
        else:
            asked.lost += 1
        time.sleep(max(0.0, every_s - took))
    return asked


def exchange(name: str, frame: bytes, timeout_s: float) -> dict[str, Any]:
    """Send a request to the socket `name` and return the reply, which is empty if none arrives in time."""
    with contextlib.suppress(OSError, ValueError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        connection.connect(name)
        connection.sendall(frame)
        with connection.makefile("rb") as stream:
            reply: dict[str, Any] = json.loads(stream.read(int.from_bytes(stream.read(protocol.HEADER_BYTES), "big")))
            return reply
    return {}


def flood(name: str, frames: Callable[[int], bytes], count: int, at_once: int) -> Counter[str]:
    """Send `count` requests as fast as possible over `at_once` connections; return how often each answer arrived."""
    answered: Counter[str] = Counter()
    poll = select.epoll()
    open_: dict[int, tuple[socket.socket, memoryview]] = {}
    sent = 0
    while sent < count or open_:
        while sent < count and len(open_) < at_once:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            try:
                connection.connect(name)
            except OSError:  # the backlog is full
                connection.close()
                break
            poll.register(connection, select.EPOLLOUT)
            open_[connection.fileno()] = connection, memoryview(frames(sent))
            sent += 1
        for number, event in poll.poll(0.01):
            connection, left = open_[number]
            try:
                if event & select.EPOLLOUT and left:
                    left = left[connection.send(left) :]
                    open_[number] = connection, left
                    if not left:
                        poll.modify(connection, select.EPOLLIN)
                if not event & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                    continue
                data = connection.recv(protocol.REPLY_LIMIT)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            kind = (
                "decision"
                if b'"decision"' in data[:60]
                else "error"
                if b'"error"' in data[:60]
                else "ok"
                if b'"ok"' in data
                else "none"
            )
            answered[kind] += 1
            del open_[number]
            connection.close()
    return answered


def echo(name: str, path: Path) -> int:
    """Echo all requests on a socket until a file exists at `path`; return the number of requests."""
    answered = 0
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(name)
        listener.listen()
        listener.settimeout(0.5)
        while not path.exists():
            with contextlib.suppress(TimeoutError):
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(connection.recv(1 << 16))
                    answered += 1
    return answered


def hold(name: str, count: int, seconds: float) -> int:
    """Hold `count` connections with half a request each for `seconds`; return the number of reconnections."""
    half = small(Words(1))[:200]
    held: list[socket.socket] = []
    again = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        while len(held) < count:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(1.0)
            try:
                connection.connect(name)
                connection.send(half)
            except OSError:
                connection.close()
                break
            held.append(connection)
        time.sleep(0.05)
        closed, _, _ = select.select(held, [], [], 0) if len(held) < 1000 else ([], [], [])
        for connection in closed:
            held.remove(connection)
            connection.close()
            again += 1
    return again
