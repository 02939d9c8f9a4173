# SPDX-License-Identifier: Apache-2.0
"""Measure what a daemon leaks in ten thousand requests, and how much ten million logged decisions slow it down."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import sqlite3
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.match.asked_daemon import one_after_another, question, rss_mib, start
from bench.match.large_database import fill
from bench.match.large_site import Site
from bench.quantile import quantile
from reprise.database import Database
from tests.unit.database_values import decision
from tests.unit.matcher_daemon import Daemon
from tests.waiting import wait_for

RECORDS = 2000
BLOCK = 10
WARM_UP = 2000
"""Number of requests after which the daemon has warmed up. Only growth after these requests counts as a leak."""
ROUND = 250
ROUNDS = 20
NUMBERS = itertools.count(1_000_000_000)  # job ids
YEAR_S = 364 * 86_400.0

# Inserts copies of the first decision. `{values}` sets the id, time, job and block of each copy. Rows are inserted in
# the order of their times.
_MORE_SQL = """
INSERT INTO decision ({names})
WITH RECURSIVE number(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM number WHERE n < :count)
SELECT {values} FROM number, decision AS one WHERE one.id = :first
"""


@contextlib.contextmanager
def daemon_with(directory: Path, decisions: int = 0) -> Iterator[tuple[Daemon, Site]]:
    """Run a daemon with `RECORDS` records of a site and this number of decisions; yield the daemon and the site."""
    directory.mkdir()
    (directory / "lib").mkdir()
    daemon = Daemon(directory, f"holdout = {1 / BLOCK}")
    rng = random.Random(1)  # noqa: S311 - not used for security
    site = Site(rng, 100)
    fill(daemon.database, site, rng, RECORDS)
    if decisions:
        log_decisions(daemon.database, decisions)
    start(daemon)
    try:
        yield daemon, site
    finally:
        daemon.stop()


def log_decisions(path: Path, count: int) -> None:
    """Log `count` decisions about jobs of all records, one job in ten held out; all are too recent to be purged."""
    first, begun = f"{0:011x}-{0:08x}", time.time() - YEAR_S
    place: Mapping[str, Any] = {"block": "2-0", "block_size": BLOCK, "compared_id": 2}
    with Database.open(path) as database:
        database.add_decision(decision(first, at=begun, record_id=2, verdict="apply", **place))
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        asked = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'decision' AND sql IS NOT NULL"
        indexes = dict(connection.execute(asked).fetchall())  # created again after the inserts, which is faster
        for name in indexes:
            connection.execute(f"DROP INDEX {name}")
        columns = [row[1] for row in connection.execute("PRAGMA table_info(decision)")]
        of_record = f"1 + n % {RECORDS}"
        made = {
            "id": "format('%011x-%08x', n, n)",
            "at": "one.at + n * :step",
            "job_id": "n",
            "record_id": of_record,
            "compared_id": of_record,
            "block": f"format('%d-%d', {of_record}, n / {RECORDS * BLOCK})",
            "block_size": f"{BLOCK}",
            "held_out": f"n / {RECORDS} % {BLOCK} = 0",
        }
        cells = ", ".join(made.get(name, f"one.{name}") for name in columns)
        values = {"count": count, "first": first, "step": YEAR_S / count}
        connection.execute(_MORE_SQL.format(names=", ".join(columns), values=cells), values)
        for sql in indexes.values():
            connection.execute(sql)


def leaks(directory: Path, requests: int) -> dict[str, float]:
    """Return the growth of a daemon's descriptors, threads and memory over `requests` requests."""
    with daemon_with(directory) as (daemon, site):
        rng = random.Random(2)  # noqa: S311 - not used for security
        frames = [question(site, rng) for _ in range(500)]

        def ask(count: int) -> None:
            asked = [frames[number % len(frames)] for number in range(count)]
            one_after_another(daemon, asked, partial(end, daemon))

        ask(WARM_UP)
        before = state(daemon, logged=WARM_UP)
        ask(requests)
        after = state(daemon, logged=WARM_UP + requests)
    return {
        "leak_fds": after[0] - before[0],
        "leak_threads": after[1] - before[1],
        "leak_rss_pct": round(100 * (after[2] / before[2] - 1), 2),
    }


def end(daemon: Daemon, answer: Mapping[str, Any]) -> None:
    """Report the end of the job that got this answer."""
    job = {"id": next(NUMBERS), "array_task": None, "uid": os.getuid(), "nodes": 4, "tasks": 4, "cluster": "test"}
    about = {"decision": answer["id"], "verdict": answer["verdict"], "applied": len(answer["env"])}
    daemon.ask({"v": 1, "kind": "outcome", "state": "ended", **about, "elapsed_s": 60.0, "exit_status": 0, "job": job})


def state(daemon: Daemon, logged: int) -> tuple[int, int, float]:
    """Wait until the database has `logged` decisions; return the daemon's descriptors, threads and memory in MiB."""
    if daemon.process is None:
        raise ValueError("the daemon does not run")
    with Database.open(daemon.database, read_only=True) as database:
        wait_for("all decisions in the database", lambda: database.counts()["decision"] == logged, 60)
    process = Path(f"/proc/{daemon.process.pid}")
    return len(list((process / "fd").iterdir())), len(list((process / "task").iterdir())), rss_mib(daemon)


def p99_ratio(directory: Path, decisions: int) -> dict[str, float]:
    """Return the 99th percentiles of decision times with `decisions` logged decisions and with none, and their ratio.

    Two daemons get the same requests alternately, in `ROUNDS` rounds after a warm-up round that does not count.
    """
    with (
        daemon_with(directory / "none") as (empty, site),
        daemon_with(directory / "many", decisions) as (full, _),
    ):
        rng = random.Random(3)  # noqa: S311 - not used for security
        took: dict[str, list[float]] = {"none": [], "many": []}
        for number in range(ROUNDS + 1):
            frames = [question(site, rng) for _ in range(ROUND)]
            pair = [("none", empty), ("many", full)]
            for name, daemon in pair if number % 2 else pair[::-1]:
                found = one_after_another(daemon, frames, partial(end, daemon))
                took[name] += found if number else []  # the first round warms up
    return {
        "p99_ratio_10m": round(_p99(took["many"]) / _p99(took["none"]), 3),
        "p99_ms_none": round(_p99(took["none"]), 2),
        "p99_ms_10m": round(_p99(took["many"]), 2),
        "p50_ms_none": round(statistics.median(took["none"]), 2),
        "p50_ms_10m": round(statistics.median(took["many"]), 2),
    }


def _p99(took: Sequence[float]) -> float:
    return quantile(sorted(took), 0.99)
