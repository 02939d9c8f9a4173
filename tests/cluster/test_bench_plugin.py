# SPDX-License-Identifier: Apache-2.0
"""`make bench-plugin` in a small form: it measures all that it promises, and no job notices the plugin."""

from __future__ import annotations

import pytest

from bench.plugin import measure
from bench.plugin_storm import CARRIED, MARK, RECORDS, is_default

BARS = {
    *("up_p50_ms", "up_p99_ms", "absent_p50_ms", "hung_max_ms", "deadline_ms"),
    *("storm_failed", "storm_changed", "so_kib", "tcp_up_p50_ms"),
}
DEFAULT = {"PATH": "/bin", "SLURM_JOB_ID": "1"}
GIVEN = dict.fromkeys(RECORDS[0], "1")


@pytest.mark.cluster
def test_the_bench_tells_all_that_it_promises_and_no_job_notices_the_plugin() -> None:
    told = measure(count=3, submissions=24, records=200)
    assert told.keys() >= BARS
    assert (told["storm_submissions"], told["storm_failed"], told["storm_changed"]) == (24, 0, 0)
    assert told["hung_max_ms"] > told["deadline_ms"] / 2
    assert 0 < told["so_kib"] <= 200


@pytest.mark.parametrize("more", [{}, {"SLURM_JOB_ID": "2"}, {CARRIED: "{}"}, {MARK: "d-1", **GIVEN}])
def test_a_job_with_its_defaults_or_all_of_a_records_settings_is_as_it_should_be(more: dict[str, str]) -> None:
    assert is_default({**DEFAULT, **more}, DEFAULT)


@pytest.mark.parametrize("more", [{"PATH": ""}, GIVEN, {MARK: "d-1"}, {MARK: "d-1", min(GIVEN): "1"}, {"OTHER": "1"}])
def test_a_job_with_anything_else_is_a_changed_one(more: dict[str, str]) -> None:
    assert not is_default({**DEFAULT, **more}, DEFAULT)


def test_a_job_that_lacks_a_variable_is_a_changed_one() -> None:
    assert not is_default({"SLURM_JOB_ID": "1"}, DEFAULT)
