# SPDX-License-Identifier: Apache-2.0
"""Measure Reprise with every release of Slurm and MPI that can be installed here: `make bench-releases`.

    python -m bench.releases [--only PART] [--pairs 8] [--matrix FILE] [--stored] [--stale]

| key | meaning |
|---|---|
| `releases` | releases of Slurm and of MPI implementations with which checks or campaigns ran |
| `failures` | number of failed checks, plus the campaigns that did not lead to a matched job |
| `mpich_gain` | best gain of a collective in an ordinary user's matched jobs with MPICH, with 95 % bounds |
| `ompi6_gain` | the same with Open MPI 6.0 |
| `wrong_mpi` | number of batch scripts of other MPIs that get settings of Open MPI |
| `wrong_mpi_scripts` | number of batch scripts of other MPIs that were tried |
| `nomunge_ok` | whether all checks on clusters without munge pass |
| `install_commands` | number of the quickstart's commands, from a clean Debian 12 to the first matched job |
| `gains` | gains of all collectives by MPI release, with bounds |
| `failed` | what failed: releases with the number of their failed checks, and campaigns |
| `missing` | parts that have not run with the current code |

A key is null if its part has not run. Parts take minutes to half an hour. Their results are stored below
`build/bench-releases`, and count as long as the product's files are unchanged, so that the benchmark can run in parts:
`--only` runs one part, and `--stored` runs none. Without either, all parts run that are missing. `--stale` counts
results of other versions of the code too. `--matrix build/matrix/results.json` reads the results of the last
`make test-matrix` instead of running it.

The part of an MPI release is a virtual cluster with latency and that release. An administrator runs a short campaign
for the whole cluster with `reprise tune run`. Then, an ordinary user submits jobs in pairs, one with the settings of
the campaign's record and one with `--reprise=off`, in random order.

The last line of output is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.releases import campaign_to_job, stored_parts, suites
from bench.releases.mpi_families import FAMILIES
from bench.releases.released_line import line
from bench.releases.stored_parts import Part
from tests.unit.mpi_corpus import wrong_mpi

PAIRS = 8


def parts(pairs: int, matrix: Path | None) -> Mapping[str, Callable[[], Mapping[str, Any]]]:
    """Return the parts of the benchmark by name, as functions that run them."""

    def family(name: str) -> Callable[[], Mapping[str, Any]]:
        return lambda: campaign_to_job.measure(FAMILIES[name], pairs)

    return {
        "scripts": lambda: dict(zip(("wrong_mpi", "wrong_mpi_scripts"), wrong_mpi(), strict=True)),
        **{name: family(name) for name in FAMILIES},
        "matrix": lambda: suites.matrix(matrix),
        "packages": lambda: {"install_commands": suites.install_commands()},
    }


def main() -> None:
    """Run the parts that are missing or asked for, store their results, and print the JSON object of all results."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.releases", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = parts(PAIRS, None)
    parser.add_argument("--only", choices=known, action="append", help="run this part, even if its result is stored")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="pairs of jobs for each MPI release")
    parser.add_argument("--matrix", type=Path, help="results of a finished `make test-matrix`, instead of running it")
    parser.add_argument("--stored", action="store_true", help="run nothing")
    parser.add_argument("--stale", action="store_true", help="count results of other versions of the code too")
    given = parser.parse_args()
    if os.geteuid() and not given.stored:
        parser.error("virtual clusters need root: run this benchmark as root")
    code = stored_parts.code()
    counting = {
        name: part for name in known if (part := stored_parts.stored(name)) and (given.stale or part.code == code)
    }
    chosen = [] if given.stored else given.only or [name for name in known if name not in counting]
    for name in chosen:
        sys.stderr.write(f"bench-releases: {name}\n")
        counting[name] = _run(parts(given.pairs, given.matrix)[name], code)
        stored_parts.store(name, counting[name])
        sys.stderr.write(f"{json.dumps(vars(counting[name]))}\n")
    sys.stdout.write(json.dumps(line({name: counting.get(name) for name in known})) + "\n")


def _run(part: Callable[[], Mapping[str, Any]], code: str) -> Part:
    try:
        return Part(code, part())
    except (RuntimeError, AssertionError, OSError) as error:  # of clusters, campaigns and jobs, too
        return Part(code, {}, f"{type(error).__name__}: {error}"[-2000:])


if __name__ == "__main__":
    main()
