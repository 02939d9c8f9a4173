# SPDX-License-Identifier: Apache-2.0
"""Measure the response times of web pages with a large database, and defects in a browser: `make bench-web`.

    python -m bench.web [--rows 1000000] [--requests 20] [--without-browser] [--without-packages]

| key | meaning |
|---|---|
| `overview_ms` | 95th percentile of the response time of the overview, with `--rows` decisions |
| `overview_first_s` | seconds from the start of the server until the overview is available; until then, pages say that
the overview is not available |
| `slowest_page_ms` | the largest 95th percentile of response times of any page, with `--rows` records; `slowest_page`
names the page |
| `browser_failures` | number of failed tests in Chromium: console errors, contrast, a width of 360 pixels, use by
keyboard |
| `install_commands` | number of commands from installing the packages to the first matched job, on a clean Debian 12 |

Times are measured by a client on this host, from the request to the last byte of the page. The last line of output is a
JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2 as httpx

from bench.quantile import quantile
from bench.releases import suites
from bench.small_reads import ROOT
from reprise.database import Database
from tests.unit.database_values import decision, record
from tests.unit.matcher_daemon import job
from tests.waiting import wait_for
from tests.web.site import DAY, WebSite

USERS, PROGRAMS, DAYS = 300, 500, 90
PAGES = {
    "overview": "/",
    "jobs": "/jobs",
    "jobs of a user": "/jobs?user=user77",
    "jobs of a user with few": "/jobs?user=rare",
    "jobs of a program": "/jobs?application=program123",
    "jobs that failed": "/jobs?failed=true",
    "jobs given settings": "/jobs?verdict=apply",
    "jobs of a record": "/jobs?record=77",
    "jobs of long ago": "/jobs?until={long_ago}",
    "job": "/jobs/d-500000",
    "job by number": "/jobs/500000",
    "no job": "/jobs/d-none",
    "records": "/records",
    "records of a user": "/records?job=user77",
    "records of a program": "/records?job=program123",
    "records quarantined": "/records?status=quarantined",
    "records of a component": "/records?component=romio",
    "records of nobody": "/records?job=nobody",
    "record": "/records/77",
    "campaigns": "/campaigns",
    "campaign": "/campaigns/1",
    "campaign-new": "/campaigns/new?component=sleep&decision=d-500000",
    "overview as JSON": "/api/overview",
    "jobs as JSON": "/api/jobs?limit=200",
    "records as JSON": "/api/records?limit=200",
}
_SERIES = "WITH RECURSIVE number(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM number WHERE n < :count)"
_NAMED = (
    "json_set({0}, '$.user', 'user' || (n * 7919 % :users), '$.program', 'program' || (n * 104729 % :programs),"
    " '$.job_name', 'name' || (n % 1000), '$.nodes', 1 + n % 16)"
)


def fill(path: Path, rows: int, now: float) -> None:
    """Write `rows` records, `rows` decisions of the last 90 days, and the jobs of these decisions.

    One in three decisions matches a record. One in ten of the jobs with such a match is held out.
    """
    with Database.open(path) as database:
        first = database.add_record(record(metadata=job("user1").to_json(), environment={"A": "1"}, created_at=now))
        database.add_decision(decision("d-1", at=now - DAYS * DAY, metadata=job("rare").to_json(), user="rare"))
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        values: Mapping[str, Any] = {"count": rows, "users": USERS, "programs": PROGRAMS, "first": first}
        _multiply(
            connection, "record", "one.id = :first", values,
            {
                "id": "n",
                "metadata": _NAMED.format("one.metadata"),
                "gain": "0.1 + 0.3 * (n % 100) / 100",
                "component": "CASE n % 3 WHEN 0 THEN 'romio' ELSE 'openmpi-collectives' END",
                "status": "CASE WHEN n % 1000 THEN 'active' ELSE 'quarantined' END",
            },
        )  # fmt: skip
        _multiply(
            connection, "decision", "one.id = 'd-1'", {**values, "step": DAYS * DAY / rows},
            {
                "id": "'d-' || n",
                "at": "one.at + n * :step",
                "metadata": _NAMED.format("one.metadata"),
                "user": "'user' || (n * 7919 % :users)",
                "uid": "10000 + n * 7919 % :users",
                "verdict": "CASE WHEN n % 3 THEN 'none' WHEN n / 300 % 10 THEN 'apply' ELSE 'holdout' END",
                "record_id": "CASE WHEN n % 3 THEN NULL ELSE 1 + n % 300 END",
                "block": "CASE WHEN n % 3 THEN NULL ELSE 'b' || (1 + n % 300) || '-' || (n / 3000) END",
                "compared_id": "CASE WHEN n % 3 THEN NULL ELSE 1 + n % 300 END",
                "held_out": "n % 3 = 0 AND n / 300 % 10 = 0",
                "block_size": "CASE WHEN n % 3 THEN NULL ELSE 10 END",
                "job_id": "n",
            },
        )  # fmt: skip
        connection.execute(
            "INSERT INTO outcome (cluster, job_id, array_task, uid, verdict, started_at, decision_id, applied,"
            " ended_at, elapsed_s, exit_status) SELECT cluster, job_id, NULL, uid, verdict, at + 5, id, 1, at + 605,"
            " CASE verdict WHEN 'apply' THEN 500.0 ELSE 600.0 END + job_id * 7 % 50, (job_id % 50 = 0) * 256"
            " FROM decision WHERE job_id IS NOT NULL"
        )


def _multiply(
    connection: sqlite3.Connection, table: str, which: str, values: Mapping[str, Any], made: Mapping[str, str]
) -> None:
    """Make copies of the row that `which` selects; the columns in `made` are computed from a copy's number `n`."""
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    cells = ", ".join(made.get(name, f"one.{name}") for name in columns)
    into = f"INSERT INTO {table} ({', '.join(columns)}) {_SERIES}"
    connection.execute(f"{into} SELECT {cells} FROM number, {table} AS one WHERE {which}", values)  # noqa: S608


def measured(directory: Path, rows: int, requests: int) -> dict[str, Any]:
    """Serve the pages with a large database; return the part of the final JSON object that is about times."""
    site = WebSite(directory)
    fill(site.config.database.path, rows, site.now)
    site.run_campaign()
    site.start()
    try:
        with site.client() as client:
            begun = time.monotonic()
            wait_for("the overview", lambda: client.get("/").status_code == 200, 120)
            first_s = time.monotonic() - begun
            took = {}
            for name, path in PAGES.items():
                took[name] = _p95(client, path.format(long_ago=site.now - (DAYS - 1) * DAY), requests)
                sys.stderr.write(f"{name}: {took[name]:.0f} ms\n")
    finally:
        site.stop()
    slowest = max(took, key=took.__getitem__)
    return {
        "overview_ms": round(took["overview"], 1),
        "overview_first_s": round(first_s, 1),
        "slowest_page_ms": round(took[slowest], 1),
        "slowest_page": slowest,
    }


def _p95(client: httpx.Client, path: str, requests: int) -> float:
    took = []
    for _ in range(requests):
        begun = time.monotonic()
        answer = client.get(path)
        took.append(1e3 * (time.monotonic() - begun))
        if answer.status_code not in (200, 404):
            raise SystemExit(f"bench-web: {path}: {answer.status_code}: {answer.text[:300]}")
    return quantile(sorted(took), 0.95)


def browser_failures() -> int:
    """Return the number of failed tests in Chromium. Raises SystemExit if the tests could not be run."""
    command = [sys.executable, "-m", "pytest", "-q", "tests/web/test_browser.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr
    sys.stderr.write(f"{told}\n")
    if "passed" not in told:
        raise SystemExit(f"bench-web: the browser's tests did not run: {told}")
    return sum(int(one) for one in re.findall(r"(\d+) (?:failed|error)", told))


def main() -> None:
    """Run the benchmark and print its JSON object."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.web", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="number of records, and of decisions, and of jobs")
    parser.add_argument("--requests", type=int, default=20, help="number of requests for each page")
    parser.add_argument("--without-browser", action="store_true")
    parser.add_argument("--without-packages", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="reprise-bench-web-") as name:
        result = measured(Path(name), given.rows, given.requests)
    if not given.without_browser:
        result["browser_failures"] = browser_failures()
    if not given.without_packages:
        result["install_commands"] = suites.install_commands()
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
