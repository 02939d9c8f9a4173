# SPDX-License-Identifier: Apache-2.0
"""Ask a forwarder for the features of the last second, by its control socket or by its metrics."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from reprise.matcher.council.access_pattern import Operation
from reprise.matcher.council.pattern_detector import Features
from reprise.matcher.errors import DetectorError

WAIT_S = 5.0
"""Longest wait for an answer. A forwarder answers within milliseconds, unless its host is overloaded or stopped."""
LARGEST = 2**20
"""Maximum size of an answer in bytes. 64 jobs take 40 kB; the cap keeps another server from filling the memory."""

PREFIX = "reprise_forwarder_pattern_"
_FEATURES = {
    f"{PREFIX}files": "files",
    f"{PREFIX}request_max_bytes": "request_max",
    f"{PREFIX}request_min_bytes": "request_min",
    f"{PREFIX}request_mean_bytes": "request_mean",
    f"{PREFIX}distance_mean_bytes": "distance_mean",
}


@dataclass(frozen=True)
class Observed:
    """Features of a job in the last second, which began `at` (Unix seconds).

    Metrics do not show when it began; `at` is None then.
    """

    job: str
    at: float | None
    features: Features


def observed(address: str) -> list[Observed]:
    """Return the features at a forwarder: the path of its control socket, or HOST:PORT of its metrics.

    Raise DetectorError if there is no valid answer.
    """
    try:
        text = _ask_socket(address) if "/" in address else _ask_metrics(address)
        return of_patterns(json.loads(text)) if "/" in address else of_metrics(text.decode())
    except (OSError, HTTPException) as error:
        raise DetectorError(
            f"{address}: the forwarder does not answer ({error}): give the path of its control socket, or HOST:PORT "
            "of its metrics"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DetectorError(f"{address}: the answer is not that of a forwarder ({error}): check the address") from error


def of_patterns(answer: Any) -> list[Observed]:
    """Return the features in an answer to the command `patterns`. Raise ValueError, KeyError or TypeError."""
    if not isinstance(answer, list):
        raise TypeError("no list of patterns")
    return [
        Observed(str(one["job"]), float(one["begun_at"]), _features(Operation(one["operation"]), one))
        for one in answer
        if one["requests"]
    ]


def of_metrics(text: str) -> list[Observed]:
    """Return the features in a forwarder's metrics. Raise ValueError or KeyError."""
    found: dict[tuple[str, Operation], dict[str, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples if family.name in _FEATURES else ():
            key = (sample.labels["job"], Operation(sample.labels["operation"]))
            found.setdefault(key, {})[_FEATURES[family.name]] = sample.value
    return [
        Observed(job, None, _features(operation, values))
        for (job, operation), values in found.items()
        if "request_mean" in values  # otherwise there was no request
    ]


def _features(operation: Operation, of: Mapping[str, Any]) -> Features:
    return Features(
        operation,
        int(of["files"]),
        float(of["request_max"]),
        float(of["request_min"]),
        float(of["request_mean"]),
        None if of.get("distance_mean") is None else float(of["distance_mean"]),
    )


def _ask_socket(path: str) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as to:
        to.settimeout(WAIT_S)
        to.connect(path)
        to.sendall(b"patterns\n")
        with to.makefile("rb") as answer:
            return answer.readline(LARGEST)


def _ask_metrics(address: str) -> bytes:
    host, _, port = address.rpartition(":")
    with closing(HTTPConnection(host.strip("[]"), int(port), timeout=WAIT_S)) as connection:
        connection.request("GET", "/metrics")
        return connection.getresponse().read(LARGEST)
