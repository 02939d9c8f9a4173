# SPDX-License-Identifier: Apache-2.0
"""Test that forwarders are asked for features, and that other answers are refused in one line."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reprise.matcher.council.access_pattern import Operation
from reprise.matcher.council.pattern_detector import Features
from reprise.matcher.detection.feature_source import Observed, observed, of_metrics, of_patterns
from reprise.matcher.errors import DetectorError

PATTERN = {
    "job": "7",
    "operation": "write",
    "begun_at": 1764380001.0,
    "seconds": 1.0,
    "bytes": 5,
    "requests": 5,
    "files": 1,
    "request_min": 4096,
    "request_max": 61440,
    "request_mean": 32768,
    "distance_mean": None,
    "window_us": None,
}
METRICS = """# HELP reprise_forwarder_pattern_files Files that a job used in the last second
# TYPE reprise_forwarder_pattern_files gauge
reprise_forwarder_pattern_files{job="7",operation="write"} 1
reprise_forwarder_pattern_files{job="a b",operation="read"} 3
# TYPE reprise_forwarder_pattern_request_min_bytes gauge
reprise_forwarder_pattern_request_min_bytes{job="7",operation="write"} 4096
# TYPE reprise_forwarder_pattern_request_max_bytes gauge
reprise_forwarder_pattern_request_max_bytes{job="7",operation="write"} 61440
# TYPE reprise_forwarder_pattern_request_mean_bytes gauge
reprise_forwarder_pattern_request_mean_bytes{job="7",operation="write"} 32768
# TYPE reprise_forwarder_pattern_bytes_per_second gauge
reprise_forwarder_pattern_bytes_per_second{job="7",operation="write"} 1e9
# TYPE reprise_forwarder_connections gauge
reprise_forwarder_connections 3
"""
FEATURES = Features(Operation.WRITE, 1, 61440, 4096, 32768, None)


def test_the_command_patterns_has_the_features_and_their_time() -> None:
    idle = {**PATTERN, "requests": 0, "files": 0, **dict.fromkeys(("request_min", "request_max", "request_mean"))}
    assert of_patterns([PATTERN, idle]) == [Observed("7", 1764380001.0, FEATURES)]


def test_metrics_have_the_features_without_time() -> None:
    """A job without requests, whose earlier ones were answered, has no pattern."""
    assert of_metrics(METRICS) == [Observed("7", None, FEATURES)]


@contextmanager
def server(listening: socket.socket, answer: bytes) -> Iterator[None]:
    """Answer one request, and close the connection."""

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    yield
    thread.join()
    listening.close()


def answered(path: Path, answer: bytes) -> list[Observed]:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()
    with server(listening, answer):
        return observed(str(path))


def test_a_control_socket_is_asked_for_patterns(tmp_path: Path) -> None:
    (found,) = answered(tmp_path / "control", json.dumps([PATTERN]).encode() + b"\n")
    assert found.features == FEATURES


def test_metrics_are_asked_over_http() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    with server(listening, b"HTTP/1.0 200 OK\r\n\r\n" + METRICS.encode()):
        assert observed(f"127.0.0.1:{listening.getsockname()[1]}")[0].features == FEATURES


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"{}\n",
        b"[1]\n",
        b'{"error": "no"}\n',
        b"[" * 100_000 + b"\n",
        json.dumps([{**PATTERN, "operation": "open"}]).encode(),
        json.dumps([{**PATTERN, "begun_at": None}]).encode(),
        json.dumps([{"job": "7"}]).encode(),
        b"\xff\n",
    ],
)
def test_another_answer_is_refused_in_one_line(tmp_path: Path, answer: bytes) -> None:
    path = tmp_path / "control"
    with pytest.raises(DetectorError) as raised:
        answered(path, answer)
    message = str(raised.value)
    assert message.startswith(f"{path}: the answer is not that of a forwarder") and "\n" not in message


@pytest.mark.parametrize("address", ["/nowhere/control", "127.0.0.1:1", "localhost", "a:b:c", ":", "127.0.0.1:99999"])
def test_a_forwarder_that_does_not_answer_is_named_in_one_line(address: str) -> None:
    with pytest.raises(DetectorError) as raised:
        observed(address)
    assert str(raised.value).startswith(f"{address}: ") and "\n" not in str(raised.value)
