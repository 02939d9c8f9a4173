# SPDX-License-Identifier: Apache-2.0
"""The page docs/reference/tuner-evaluation.md, generated from the results of bench.tuner."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs/reference/tuner-evaluation.md"

TEXT = """# Evaluation of the tuner

This page compares the tuner's search methods and noise policies with other tuners, the peers. It is for readers who
judge the tuner or choose a method. `make bench-tuner` writes this page; do not edit it.

Every method ran with {seeds} seeds on each of {count} landscapes, whose points have all been measured or emulated
([landscapes](landscape-files.md)). Every search has 10 initial points. All other settings of the peers are their
defaults, with two exceptions: `skopt-gp` maximizes expected improvement over random samples, and SMAC3 uses a tenth of
its default number of random challengers, because the grids are small. On an ordered axis, a peer searches the indices
of the values. The values of an unordered axis are passed as categories. If a peer proposes a point again, this counts
as another evaluation, as it would for the peer's users. HEBO and optuna's Gaussian processes need torch and are not
included.

## Evaluations until one is within 5 % of the optimum

Each figure is the median over the seeds. A run for which 100 evaluations were not enough counts as 101. *All* is the
median over all landscapes and seeds. *Never* is the share of runs for which 100 evaluations were not enough.

{near}

## Recommendations under noise

The table shows the average excess, in percent, of the recommended point's mean over the best mean. The search has 160
evaluations on `sbb-noise`, where each evaluation draws one of 16 measurements, and 110 on `sro-noise`, where other
jobs interfere. There is no stop rule, so that all methods have the same budget.

Our methods are the search `gp-ei` with each [noise policy](noise.md). SMAC3 recommends its incumbent, nevergrad its
recommendation, and the other peers the point with the lowest value seen.

{noise}

## Detection of a needle

A game has 36 points. Among them, 1 to 10 in a row are 10 to 90 % faster than the other points, which differ by at most
1 %; runs vary by 2 %. Every point is measured once, and some runs remain for repetitions. The table shows the share of
games in which the policy names one of the faster points.

{needle}

## Time of a decision

`gp-ei` takes {ask_ms} ms to choose one of 2,000 points after 100 observations (the median of 15 choices).
"""


def _table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a Markdown table with a row per method and a column per landscape."""
    columns = list(rows)
    methods = list(dict.fromkeys(name for row in rows.values() for name in row))
    lines = ["| method | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    lines += [
        f"| {method} | " + " | ".join(str(rows[column].get(method, "")) for column in columns) + " |"
        for method in methods
    ]
    return "\n".join(lines)


def _ordered(values: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(values.items(), key=lambda item: item[1]))


def render(found: Mapping[str, Any]) -> str:
    """Return the text of the page."""
    near = {"all": _ordered(found["evals_to_5pct"]), "never": found["not_reached"]}
    noisy = {"all": _ordered(found["noise_distance"])}
    return TEXT.format(
        seeds=found["seeds"],
        count=len(found["landscapes"]),
        near=_table({**near, **found["evals_to_5pct_by_landscape"]}),
        noise=_table({**noisy, **found["noise_distance_by_landscape"]}),
        needle=_table({"found": dict(reversed(_ordered(found["needle_found"]).items()))}),
        ask_ms=found["ask_ms"],
    )
