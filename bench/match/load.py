# SPDX-License-Identifier: Apache-2.0
"""Simulate many users who submit once a second, in a separate process that does not disturb the measuring process.

    python -m bench.match.load SOCKET FRAMES USERS SECONDS

FRAMES is a file with the requests, one frame after the other. Each user submits at a fixed moment of every second, even
if earlier submissions are still unanswered. The program prints a JSON object: `lost` is the number of submissions
without a decision within PATIENCE_S. `p50_ms` and `p99_ms` are quantiles of the time from the start of a connection to
the complete answer. `lag_p99_ms` is the 99th percentile of the delay with which this program itself submitted.
"""

from __future__ import annotations

import gc
import json
import random
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.quantile import quantile
from reprise.matcher.wire.protocol import HEADER_BYTES, REPLY_LIMIT

PATIENCE_S = 10.0
DECISION = b'"kind":"decision"'


@dataclass
class Load:
    """The results of a load: seconds until each answer, each submission's delay, and the number of lost submissions."""

    answered: list[float]
    late: list[float]
    lost: int = 0


class Crowd:
    """The pending submissions of all users, and the results of answered and lost submissions."""

    def __init__(self, path: str) -> None:
        self.load = Load([], [])
        self._path = path
        self._poll = select.epoll()
        self._refused: deque[tuple[bytes, float]] = deque()  # sent once the socket's backlog has room
        self._open: dict[int, tuple[socket.socket, float, bytes]] = {}

    def __len__(self) -> int:
        return len(self._open) + len(self._refused)

    def submit(self, frame: bytes, due: float) -> None:
        """Submit a frame now, and record its delay since `due`, the time at which it should have been submitted."""
        begun = time.perf_counter()
        self.load.late.append(begun - due)
        self._refused.append((frame, begun))
        self._connect()

    def _connect(self) -> None:
        while self._refused:
            frame, begun = self._refused[0]
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            try:
                connection.connect(self._path)
                connection.sendall(frame)
            except BlockingIOError:
                connection.close()
                return
            self._refused.popleft()
            self._open[connection.fileno()] = connection, begun, b""
            self._poll.register(connection, select.EPOLLIN)

    def take(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` for data from the daemon and read what has arrived."""
        for number, _ in self._poll.poll(timeout_s):
            connection, begun, data = self._open[number]
            try:
                more = connection.recv(REPLY_LIMIT + HEADER_BYTES)
            except ConnectionError:
                more = b""
            data += more
            if more and len(data) < HEADER_BYTES + int.from_bytes(data[:HEADER_BYTES], "big"):
                self._open[number] = connection, begun, data
            else:
                self._close(number, DECISION in data)
        self._connect()

    def give_up(self) -> None:
        """Count submissions that have waited longer than PATIENCE_S as lost, and close their connections."""
        long_ago = time.perf_counter() - PATIENCE_S
        while self._refused and self._refused[0][1] < long_ago:
            self._refused.popleft()
            self.load.lost += 1
        for number in [number for number, (_, begun, _) in self._open.items() if begun < long_ago]:
            self._close(number, False)

    def _close(self, number: int, is_answered: bool) -> None:
        connection, begun, _ = self._open.pop(number)
        connection.close()
        if is_answered:
            self.load.answered.append(time.perf_counter() - begun)
        else:
            self.load.lost += 1


def run(path: str, frames: Sequence[bytes], users: int, seconds: int) -> Load:
    """Let `users` users submit once a second for `seconds` seconds, and return the results."""
    rng = random.Random(users)  # noqa: S311 - not used for security
    moments = sorted(rng.random() for _ in range(users))
    crowd = Crowd(path)
    begun = time.perf_counter()
    for number in range(users * seconds):
        second, user = divmod(number, users)
        due = begun + second + moments[user]
        while (wait := due - time.perf_counter()) > 0:
            crowd.take(wait)
        crowd.submit(frames[number % len(frames)], due)
        crowd.take(0)
        if user == 0:
            crowd.give_up()
    while len(crowd):
        crowd.take(0.1)
        crowd.give_up()
    return crowd.load


def read_frames(data: bytes) -> Iterator[bytes]:
    """Yield the consecutive frames in `data`."""
    at = 0
    while at < len(data):
        end = at + HEADER_BYTES + int.from_bytes(data[at : at + HEADER_BYTES], "big")
        yield data[at:end]
        at = end


def main() -> None:
    """Run the load that the arguments describe and print the JSON object."""
    path, frames, users, seconds = sys.argv[1:]
    gc.disable()
    load = run(path, list(read_frames(Path(frames).read_bytes())), int(users), int(seconds))
    answered = load.answered or [PATIENCE_S]
    told = {
        "lost": load.lost,
        "p50_ms": round(quantile(answered, 0.5) * 1e3, 2),
        "p99_ms": round(quantile(answered, 0.99) * 1e3, 2),
        "lag_p99_ms": round(quantile(load.late, 0.99) * 1e3, 2),
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
