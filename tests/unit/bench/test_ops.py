# SPDX-License-Identifier: Apache-2.0
"""Test two parts of `make bench-ops`: the simulation of jobs in production, and the database with logged decisions."""

from __future__ import annotations

import math
import random
import statistics
import time
from pathlib import Path

import pytest

from bench.ops.production import NOISE, NOISES, play, production
from bench.ops.service import RECORDS, log_decisions
from reprise.config import Config
from reprise.database import Database
from reprise.database.totals import DAY_S
from tests.unit.database_values import record


@pytest.mark.parametrize("name", NOISES)
def test_a_harmful_record_is_set_aside_and_the_others_are_not(name: str) -> None:
    found = play(1, 3000, NOISES[name])
    assert found.harmful_after is not None and found.harmful_after < 200
    assert not any(aside for aside, _ in found.good)


@pytest.mark.parametrize("name", NOISES)
def test_half_of_the_noise_is_within_its_quartiles_and_none_of_it_is_an_effect(name: str) -> None:
    rng = random.Random(1)  # noqa: S311 - not used for security
    drawn = [NOISES[name](rng) for _ in range(20_000)]
    low, middle, high = statistics.quantiles(drawn, n=4)
    assert abs(middle) < 0.005 and high - low == pytest.approx(2 * 0.67 * NOISE, rel=0.25)


def test_the_worst_noise_counts() -> None:
    told = production(2, 600)
    of = told["noise"]
    assert isinstance(of, dict) and set(of) == set(NOISES)
    assert told["quarantined_within_30"] == min(one["quarantined_within_30"] for one in of.values())
    assert all(math.isfinite(one["coverage"]) for one in of.values())


def test_decisions_are_logged_as_a_daemon_would(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.db", create=True) as database:
        database.add_records([record()] * RECORDS)
    log_decisions(tmp_path / "a.db", 1000)
    with Database.open(tmp_path / "a.db") as database:
        assert database.counts()["decision"] == 1000 and database.problems() == []
        last = database.decision(f"{1000:011x}-{1000:08x}")
        assert (last.job_id, last.verdict, last.record_id) == (1000, "apply", 1001)
        assert database.purge(time.time() - Config().matcher.retention_days * DAY_S) == 0, (
            "the daemon's purge keeps these rows"
        )
        assert [job.size for job in database.compared(2)] == [10]
