# SPDX-License-Identifier: Apache-2.0
"""Test that a short `make bench-plugin` measures everything that it documents, and that no job notices the plugin."""

from __future__ import annotations

import pytest

from bench.plugin.__main__ import measure

BARS = {
    *("up_p50_ms", "up_p99_ms", "absent_p50_ms", "hung_max_ms", "deadline_ms"),
    *("storm_failed", "storm_changed", "so_kib", "tcp_up_p50_ms"),
}


@pytest.mark.cluster
def test_the_bench_tells_all_that_it_promises_and_no_job_notices_the_plugin() -> None:
    told = measure(count=3, submissions=24, records=200)
    assert told.keys() >= BARS
    assert (told["storm_submissions"], told["storm_failed"], told["storm_changed"]) == (24, 0, 0)
    assert told["hung_max_ms"] > told["deadline_ms"] / 2
    assert 0 < told["so_kib"] <= 200
