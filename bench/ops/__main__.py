# SPDX-License-Identifier: Apache-2.0
"""Measure long-term operation: quarantine of harmful records, leaks, and large databases (`make bench-ops`).

    python -m bench.ops [--seeds 200] [--jobs 50000] [--decisions 10000000] [--only production|leaks|decisions]

| key | meaning |
|---|---|
| `quarantined_within_30` | share of productions in which a record that makes jobs 10 % slower is quarantined after at
most 30 jobs |
| `false_quarantine` | share of productions in which at least one of nine records that gain 10 % is quarantined |
| `coverage` | share of these nine records whose reported 95 % interval contains the true gain |
| `leak_fds`, `leak_threads`, `leak_rss_pct` | growth of a daemon after 10,000 requests |
| `p99_ratio_10m` | 99th percentile of decision times with `--decisions` decisions in the database, divided by the same
percentile with an empty database |

A production is a simulated series of jobs (see `bench.ops.production`), with normal noise, normal noise with spikes, or
noise with a Student's t distribution. The first three keys have the value for the worst kind of noise; for `coverage`,
this is the value farthest from 0.95. The last line of output is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.ops.production import production
from bench.ops.service import leaks, p99_ratio

REQUESTS = 10_000


def main() -> None:
    """Run the benchmark and print its JSON object."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.ops", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=200, help="number of productions for each kind of noise")
    parser.add_argument("--jobs", type=int, default=50_000, help="number of jobs in a production")
    parser.add_argument(
        "--decisions", type=int, default=10_000_000, help="number of decisions in the database; 10,000,000 take 3 GB"
    )
    parser.add_argument("--only", choices=("production", "leaks", "decisions"), action="append")
    given = parser.parse_args()
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="reprise-bench-ops-") as name:
        directory = Path(name)
        parts: Mapping[str, Callable[[], Mapping[str, Any]]] = {
            "production": lambda: production(given.seeds, given.jobs),
            "leaks": lambda: leaks(directory / "leaks", REQUESTS),
            "decisions": lambda: p99_ratio(directory, given.decisions),
        }
        for part in given.only or parts:
            found = parts[part]()
            sys.stderr.write(f"{json.dumps(found)}\n")
            result |= found
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
