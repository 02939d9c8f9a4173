# SPDX-License-Identifier: Apache-2.0
"""Measure the harm that one user can do to others, and the secrets that are stored: `make bench-trust`.

    python -m bench.trust [--scripts DIR] [--only lies|holdout|words|floods|secrets]

| key | meaning |
|---|---|
| `lies_quarantined` | number of good records quarantined by up to 10,000 false reports from 1, 2 or 3 users |
| `lies_shielded` | number of harmful records kept in use by two false reports for each honest report |
| `gain_moved_pct` | percentage points by which false reports change the gain of a record |
| `holdout_steered` | largest deviation of a user's held-out share from the configured share, caused by another user's
requests |
| `words_recovered` | number of secret words in another user's records, out of about 50, that are recovered by 1,000
requests each |
| `flood_lost` | number of honest users' decisions, out of 300, that cannot be explained after a flood of 200,000
requests |
| `flood_p99_ms` | 99th percentile of the time of honest users' decisions during the flood |
| `rss_mib_full_disk` | largest memory of the daemon in an hour of flood with a full disk |
| `db_mib_per_uid_day` | growth of the database that one user can cause in a day |
| `slow_victims_late` | share of decisions on 12 KB scripts that take over 100 ms if two clients send 30 KB requests |
| `secrets_stored` | number of forms of secrets, out of at least 120, that are found in the daemon's files |
| `false_masks` | share of options that are masked but contain no secret, in a folder of scripts (`--scripts`) |

Needs root, because the benchmark starts daemons, and processes with the uids of other users. The last line of output is
a JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.trust import floods, holdout_steering, lies, secrets_stored, words


def main() -> None:
    """Run the benchmark and print its JSON object."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.trust", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scripts", type=Path, help="folder of batch scripts, for `false_masks`")
    parser.add_argument("--only", choices=("lies", "holdout", "words", "floods", "secrets"), action="append")
    given = parser.parse_args()
    if os.geteuid():
        parser.error("this benchmark acts as several users: run it as root")
    result: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="reprise-bench-trust-") as name:
        directory = Path(name)
        directory.chmod(0o755)  # so that all users can reach the socket
        parts: Mapping[str, Callable[[], Mapping[str, float]]] = {
            "lies": lambda: lies.measure(directory / "lies"),
            "holdout": lambda: holdout_steering.measure(directory / "holdout"),
            "words": lambda: words.measure(directory / "words"),
            "floods": lambda: floods.measure(directory / "floods"),
            "secrets": lambda: secrets_stored.measure(given.scripts),
        }
        for part in given.only or parts:
            found = parts[part]()
            sys.stderr.write(f"{json.dumps(found)}\n")
            result |= found
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
