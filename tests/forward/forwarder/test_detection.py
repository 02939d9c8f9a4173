# SPDX-License-Identifier: Apache-2.0
"""Test that the features of a real forwarder are read, by its control socket and by its metrics."""

from __future__ import annotations

import socket

import pytest

from reprise.matcher.detection.feature_source import Observed, observed
from tests.forward.forwarder.conftest import Place
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

SIZE, STRIDE = 8192, 8 * 8192


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def test_features_of_a_job_are_those_of_its_requests(place: Place) -> None:
    metrics = f"127.0.0.1:{free_port()}"
    place.start(f"--metrics={metrics}")
    sources = (str(place.directory / "control"), metrics)
    assert [observed(source) for source in sources] == [[], []]
    writer = place.client("4711")
    written, position = writer.create("written"), 0

    def play() -> list[Observed] | None:
        nonlocal position
        for _ in range(4):
            writer.write(written, position * STRIDE, bytes(SIZE))
            position += 1
        found = [one for source in sources for one in observed(source)]
        return found if len(found) == 2 and found[0].features == found[1].features else None

    control, by_metrics = wait_for("the features", play)
    assert (control.job, by_metrics.job, by_metrics.at) == ("4711", "4711", None)
    assert control.at and control.features.distance_mean == STRIDE - SIZE
    of = control.features
    assert (of.operation, of.files, of.request_min, of.request_mean, of.request_max) == ("write", 1, SIZE, SIZE, SIZE)
