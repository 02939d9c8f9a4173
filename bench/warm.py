# SPDX-License-Identifier: Apache-2.0
"""Measure how many evaluations a warm start saves, on exhaustively measured landscapes (bench/landscapes/).

    python -m bench.warm [--seeds 30] [--processes 2]

A search on one landscape, the source, is stopped after `SOURCE_BUDGET` evaluations. Its best point, mapped to the grid
of another landscape as campaigns do, becomes the first point of a search on that landscape. For each pair of
landscapes, `evals_to_5pct` has the median number of evaluations until one is within 5 % of the optimum, both without
and with that first point. The benchmark writes docs/reference/warm-start.md. The last line of output is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from bench.emulated import path_of
from bench.tuner.games import FAR, INITIAL, evaluations_until_near
from reprise.tuner import search
from reprise.tuner.model.landscape import Landscape, load
from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.steps.warm_start import nearest_point

PAGE = Path(__file__).parents[1] / "docs/reference/warm-start.md"
METHOD = "gp-ei"
SOURCE_BUDGET = 40
TEXT = """\
# Savings of a warm start

This page shows how many evaluations a campaign saves if it starts with the best settings of a similar job. It is for
administrators who are considering a
[warm start](../how-to/campaigns.md#start-from-the-settings-of-similar-jobs). `make bench-warm` writes this page; do not
edit it.

The tables count the evaluations of `{method}`, without and with a warm start, until one is within 5 % of the optimum.
The searches run on [landscapes](landscape-files.md), whose points have all been measured or emulated. The first point
of a warm start comes from another landscape, the source: it is the best point of a search of {budget} evaluations on
the source. The counts are medians of {seeds} seeds, with quartiles in brackets; {far} means more than {most}."""
PAIRS: Mapping[str, Sequence[tuple[str, str]]] = {
    "one application on another file system": [
        (f"sro.{number}.{one}", f"sro.{number}.{other}")
        for number in (1, 2, 3)
        for one, other in (("lustre", "nfs"), ("nfs", "lustre"))
    ],
    "another application of the same kind": [("sro.1.nfs", "sro.2.nfs"), ("sro.2.nfs", "sro.3.nfs")],
    "another job of the same component": [("sbb.1", "sbb.2"), ("sbb.2", "sbb.1")],
}


class Opened:
    """The product's search method `METHOD`, with given first points."""

    def __init__(self, space: Space, seed: int, first: Sequence[Parametrization] = ()) -> None:
        self._search = search.build(METHOD, space, seed, INITIAL, first=first)
        self._told: list[tuple[float, Parametrization]] = []

    def ask(self) -> Parametrization | None:
        """Return the next point to evaluate, or None if there are no more points."""
        return self._search.ask()

    def tell(self, point: Parametrization, value: float) -> None:
        """Report the measured value of a point."""
        self._search.tell(point, value)
        self._told.append((value, point))

    def best(self) -> Parametrization:
        """Return the point with the lowest value so far."""
        return min(self._told, key=lambda told: told[0])[1]


@cache
def landscape(name: str) -> Landscape:
    """Return the stored landscape with this name; its file is read only once."""
    return load(path_of(name))


def found_best(name: str, seed: int) -> dict[str, Any]:
    """Return the best point that a search with `SOURCE_BUDGET` evaluations finds on a landscape."""
    known = landscape(name)
    driver = Opened(known.space, seed)
    for _ in range(SOURCE_BUDGET):
        if (point := driver.ask()) is None:
            break
        driver.tell(point, known.mean(point))
    return dict(driver.best())


def without(name: str, seed: int) -> int:
    """Return the number of evaluations until one is within 5 % of the optimum, without a warm start."""
    return evaluations_until_near(lambda space, seed, *_: Opened(space, seed), landscape(name), seed)


def with_start(name: str, seed: int, best: Parametrization) -> int:
    """Return the number of evaluations until one is within 5 % of the optimum, if `best` is tried first."""
    known = landscape(name)
    point = nearest_point(known.space, best, known.default)
    first = [] if point is None else [point]
    return evaluations_until_near(lambda space, seed, *_: Opened(space, seed, first), known, seed)


def measured(seeds: int, processes: int) -> dict[tuple[str, str], tuple[list[int], list[int]]]:
    """Return two lists for each pair of landscapes: evaluations by seed, without and with a warm start."""
    pairs = [pair for group in PAIRS.values() for pair in group]
    sources, targets = ({pair[side] for pair in pairs} for side in (0, 1))
    with ProcessPoolExecutor(processes) as pool:
        best = {(n, s): pool.submit(found_best, n, s) for n in sorted(sources) for s in range(seeds)}
        cold = {(n, s): pool.submit(without, n, s) for n in sorted(targets) for s in range(seeds)}
        warm = {
            (*pair, s): pool.submit(with_start, pair[1], s, best[pair[0], s].result())
            for pair in pairs
            for s in range(seeds)
        }
        return {
            pair: (
                [cold[pair[1], s].result() for s in range(seeds)],
                [warm[(*pair, s)].result() for s in range(seeds)],
            )
            for pair in pairs
        }


def page(results: Mapping[tuple[str, str], tuple[Sequence[int], Sequence[int]]], seeds: int) -> str:
    """Return the text of docs/reference/warm-start.md."""
    lines = [TEXT.format(method=METHOD, budget=SOURCE_BUDGET, seeds=seeds, far=FAR, most=FAR - 1)]
    for title, pairs in PAIRS.items():
        lines += ["", f"## {title.capitalize()}", ""]
        lines += ["| source | tuned | without | with | runs saved |", "|---|---|---:|---:|---:|"]
        for pair in pairs:
            cold, warm = results[pair]
            saved = statistics.median(cold) - statistics.median(warm)
            lines.append(f"| `{pair[0]}` | `{pair[1]}` | {_spread(cold)} | {_spread(warm)} | {saved:+g} |")
        cold, warm = ([count for pair in pairs for count in results[pair][side]] for side in (0, 1))
        saved = statistics.median(cold) - statistics.median(warm)
        lines.append(f"| all | | {_spread(cold)} | {_spread(warm)} | {saved:+g} |")
    return "\n".join(lines) + "\n"


def _spread(counts: Sequence[int]) -> str:
    low, middle, high = statistics.quantiles(counts, n=4, method="inclusive")
    return f"{middle:g} ({low:g} to {high:g})"


def main() -> None:
    """Run the benchmark, write the page and print the JSON object."""
    parser = argparse.ArgumentParser(description="Measure the savings of a warm start.")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
    results = measured(options.seeds, options.processes)
    PAGE.write_text(page(results, options.seeds))
    medians = {f"{a} -> {b}": [statistics.median(of) for of in both] for (a, b), both in results.items()}
    sys.stdout.write(json.dumps({"evals_to_5pct": medians, "seeds": options.seeds}) + "\n")


if __name__ == "__main__":
    main()
