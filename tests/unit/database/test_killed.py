# SPDX-License-Identifier: Apache-2.0
"""Test that SIGKILL at random moments of writing loses no acknowledged row and damages nothing."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from reprise.database import Database
from reprise.database.entities import RecordStatus
from tests.unit.database_values import decision, outcome, record

KILLS = 200
MOST_SEEN = 4  # maximum number of acknowledged rows to wait for before the kill
LONGEST_S = 0.01
BEGUN = b"*"


def write(path: Path | str, life: int, acknowledged: int) -> None:
    """Write rows to several tables endlessly.

    Report the start, and each decision written, to the descriptor `acknowledged`.
    """
    with Database.open(path) as database:
        os.write(acknowledged, BEGUN)
        number = 0
        while True:
            number += 1
            name = f"d{life}-{number}"
            database.add_decision(decision(name, record_id=1))
            database.report_start(outcome(1000.0 * number, job_id=life, array_task=number, decision_id=name))
            database.add_record(record(created_at=float(life)))
            database.set_record_status(1, list(RecordStatus)[number % 3], at=float(number))
            os.write(acknowledged, f"{name}\n".encode())


@pytest.mark.slow
def test_acknowledged_rows_survive_two_hundred_kills(fresh: Path | str) -> None:
    path, rng = fresh, random.Random(1)  # noqa: S311 - not used for security
    with Database.open(path, create=True) as database:
        database.add_record(record())
    told: list[str] = []
    for life in range(KILLS):
        read, acknowledged = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            try:
                write(path, life, acknowledged)
            finally:
                os._exit(1)
        os.close(acknowledged)
        with os.fdopen(read, "rb", buffering=0) as stream:
            assert stream.read(len(BEGUN)) == BEGUN
            seen, wanted = b"", rng.randint(0, MOST_SEEN)
            while seen.count(b"\n") < wanted:
                seen += stream.read(4096) or pytest.fail("the writer ended before it was killed")
            time.sleep(rng.uniform(0, LONGEST_S))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            told += (seen + stream.read()).decode().split()
    with Database.open(path) as database:
        assert database.problems() == []
        assert len(told) > KILLS, "the writer had time to write between the kills"
        for name in told:
            assert [one.decision_id for one in database.outcomes_of_decision(database.decision(name))] == [name]
        counts = database.counts()
    assert counts["decision"] - len(told) <= KILLS and counts["record"] - 1 - len(told) <= KILLS
    assert counts["decision"] >= counts["outcome"] >= counts["record"] - 1, (
        "rows are stored in the order in which they were written"
    )
