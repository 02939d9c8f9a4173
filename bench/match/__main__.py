# SPDX-License-Identifier: Apache-2.0
"""Measure the time and the quality of decisions that are requested from a real daemon over its socket.

    python -m bench.match [--records 2000,10000,100000] [--model site] [--seconds 60]

For each number of records, the daemon runs on a new database (`start_s` is the time from its start to its first answer)
and makes decisions for one job after the other. Four in five jobs run codes that have records; one in five belongs to a
user without records and runs a code that nobody has tuned. Then, with 10,000 records, 500 users each submit once a
second (keys that begin with `load_`; `load_lag_p99_ms` is the delay of the load generator itself). `cpu_ms` is the
daemon's CPU time for a decision, including its writes to the database; `load_cpu_ms` is this time under load. Then
linkage is measured alone, with 10,000 records, and compared with recordlinkage. The share of right decisions (0 to 1)
and the cost of identifying programs by their files (see `bench.match.program_reading`) follow. The last line of output
is a JSON object. The exit status is 1 if a number from `bench.match.program_reading` exceeds its bound.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from bench.match import program_reading
from bench.match.asked_daemon import cpu_s, one_after_another, question, rss_mib, start
from bench.match.large_database import fill
from bench.match.large_site import CLUSTER_NODES, Site
from bench.match.linkage_alone import quality, speedup
from bench.quantile import quantile
from tests.unit.matcher_daemon import Daemon

USERS, LOADED_RECORDS = 500, 10_000
SUBMISSIONS = 10_000  # number of different requests; the users send these again and again
QUESTIONS, WARM_UP = 5000, 50  # measured requests (more than fit into the queue of writes), and earlier requests


def crowd(daemon: Daemon, frames: Sequence[bytes], seconds: int) -> dict[str, Any]:
    """Return the answer times of USERS users who each submit once a second for `seconds` (see `bench.match.load`)."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(frames))
        file.flush()
        command = [sys.executable, "-m", "bench.match.load", str(daemon.socket), file.name, str(USERS), str(seconds)]
        used = cpu_s(daemon)
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10 * seconds + 60).stdout
        used = cpu_s(daemon) - used
    result = {f"load_{key}": value for key, value in json.loads(told).items()}
    return result | {"load_cpu_ms": round(used / USERS / seconds * 1e3, 2)}


def measure(directory: Path, count: int, model: str, seconds: int) -> dict[str, Any]:
    """Measure a daemon whose database has `count` records, and return all results."""
    rng = random.Random(count)  # noqa: S311 - not used for security
    site = Site(rng, max(50, min(1000, count // 100)))
    daemon = Daemon(directory, f'model = "{model}"')
    daemon.config.write_text(daemon.config.read_text().replace("nodes = 8", f"nodes = {CLUSTER_NODES}"))
    values = fill(daemon.database, site, rng, count)
    click.echo(f"{count} records; distinct values: {json.dumps(values)}")
    frames = (question(site, rng) for _ in iter(int, 1))
    result: dict[str, Any] = {"start_s": round(start(daemon), 2)}
    try:
        questions = [next(frames) for _ in range(WARM_UP + QUESTIONS)]
        one_after_another(daemon, questions[:WARM_UP])
        used = cpu_s(daemon)
        took = one_after_another(daemon, questions[WARM_UP:])
        result |= {"cpu_ms": round((cpu_s(daemon) - used) / QUESTIONS * 1e3, 2)}
        result |= {"p50_ms": round(statistics.median(took), 2), "p99_ms": round(quantile(took, 0.99), 2)}
        result |= {
            "max_ms": round(max(took), 2),
            "rss_mib": round(rss_mib(daemon)),
            "peak_mib": round(rss_mib(daemon, "VmHWM")),
        }
        if seconds and count == LOADED_RECORDS:
            result |= crowd(daemon, [next(frames) for _ in range(SUBMISSIONS)], seconds)
    finally:
        daemon.stop()
    click.echo(json.dumps(result))
    return result


def main() -> None:
    """Run the benchmark and print its JSON object."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.match", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", default="2000,10000,100000,1000000", help="comma-separated numbers of records")
    parser.add_argument("--model", default="site")
    parser.add_argument("--seconds", type=int, default=60, help=f"seconds of load by {USERS} users; 0: no load")
    arguments = parser.parse_args()
    click.echo(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, model {arguments.model}")
    results = {}
    for count in map(int, arguments.records.split(",")):
        with tempfile.TemporaryDirectory() as directory:
            results[str(count)] = measure(Path(directory), count, arguments.model, arguments.seconds)
    by_count = ("p50_ms", "p99_ms", "max_ms", "cpu_ms", "start_s", "rss_mib", "peak_mib")
    told: dict[str, Any] = {key: {count: result[key] for count, result in results.items()} for key in by_count}
    told |= {key: value for result in results.values() for key, value in result.items() if key.startswith("load_")}
    told |= speedup(arguments.model, LOADED_RECORDS) | quality(arguments.model)
    with tempfile.TemporaryDirectory() as directory:
        told |= program_reading.measure(Path(directory))
    click.echo(json.dumps(told))
    sys.exit(1 if told["beyond_bounds"] else 0)


if __name__ == "__main__":
    main()
