# SPDX-License-Identifier: Apache-2.0
"""Write random rules in every file format, read them as each Open MPI release does, and compare the decisions.

The check prints a JSON object with `tables`, `roundtrip_failures` (files from which at least one release would make
decisions that differ from the rules), `seconds` and the first failures. The tables depend only on the seed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Sequence
from typing import get_args

from reprise.tuner.openmpi.catalogue import NAMES, UNITS
from reprise.tuner.openmpi.rules.rules_model import (
    ANY_NODES,
    RANKS_MAX,
    SIZE_MAX,
    Choice,
    CommRule,
    Range,
    Rules,
    SizeRule,
    Spread,
)
from reprise.tuner.openmpi.rules.writing import Form, write

CHUNK = 500
SHOWN = 5
SPREADS: tuple[Spread, ...] = get_args(Spread)


def random_rules(source: random.Random, form: Form) -> Rules:
    """Return random rules for this format; ranges may overlap, touch, begin at 0, end at limits, or be empty."""
    # Only release 6 of Open MPI reads JSON. It ignores rules with algorithms that it lacks, and has algorithms only for
    # the collectives in UNITS.
    names = tuple(UNITS) if form is Form.JSON else NAMES
    return {
        name: tuple(_comm(source, form) for _ in range(source.randint(1, 3)))
        for name in source.sample(names, source.randint(1, 2))
    }


def _comm(source: random.Random, form: Form) -> CommRule:
    nodes = _range(source, 64, RANKS_MAX) if form is Form.NODES else ANY_NODES
    rows = tuple(
        SizeRule(*_range(source, 1 << source.choice((4, 10, 21, 40)), SIZE_MAX), _choice(source, form))
        for _ in range(source.randint(0, 4))
    )
    spread: Spread = source.choice(SPREADS) if form is Form.JSON else "any"
    return CommRule(rows, _range(source, 1 << source.choice((2, 7, 14)), RANKS_MAX), nodes, spread)


def _range(source: random.Random, scale: int, limit: int) -> Range:
    low = source.choice((0, 1, source.randrange(scale)))
    high = source.choice((low, low + 1, low + source.randrange(scale), limit))
    return low, high


def _choice(source: random.Random, form: Form) -> Choice:
    """Draw parameters and an algorithm number from 0 to 2, which every release has for each collective with rules."""
    requests = source.randrange(5) if form in (Form.REQUESTS, Form.JSON) else 0
    return Choice(source.randrange(3), source.choice((0, 4, 64)), source.choice((0, 8, 1024, 1 << 20)), requests)


def run_chunk(job: tuple[int, int, int]) -> tuple[int, list[str]]:
    """Check `count` tables, beginning with table number `first`; return `count` and the failures."""
    seed, first, count = job
    found: list[str] = []
    forms = list(Form)
    for number in range(first, first + count):
        form = forms[number % len(forms)]
        rules = random_rules(random.Random(f"{seed}/{number}"), form)  # noqa: S311 - not used for security
        try:
            write(rules, form)  # also reads the file as each release does, and compares all decisions
        except AssertionError as error:
            found.append(f"table {number}: {error}")
    return count, found


def measure(tables: int, seed: int = 1, processes: int | None = None) -> dict[str, object]:
    """Check this number of tables, which alternate between the file formats, and return the JSON object."""
    started = time.monotonic()
    jobs = [(seed, first, min(CHUNK, tables - first)) for first in range(0, tables, CHUNK)]
    with multiprocessing.get_context("fork").Pool(processes or os.cpu_count()) as pool:
        done = pool.map(run_chunk, jobs, chunksize=1)
    found = [line for _, lines in done for line in lines]
    return {
        "tables": sum(count for count, _ in done),
        "roundtrip_failures": len(found),
        "seconds": round(time.monotonic() - started, 1),
        "failures": found[:SHOWN],
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Check the tables and print the JSON object."""
    parser = argparse.ArgumentParser(prog="python -m bench.collectives.rules_roundtrip", description=__doc__)
    parser.add_argument("--tables", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    result = measure(given.tables, given.seed)
    print(json.dumps(result))  # noqa: T201
    return 1 if result["roundtrip_failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
