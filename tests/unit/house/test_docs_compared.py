# SPDX-License-Identifier: Apache-2.0
"""Check the numbers about Reprise in docs/explanation/compared.md against the benchmarks' own pages.

A number that changes on one of those pages must also change in compared.md.
"""

from __future__ import annotations

import re

import pytest

from tests.places import ROOT

PAGE = (ROOT / "docs/explanation/compared.md").read_text()
OURS = [row.split("|")[4] for row in PAGE.split("\nOur benchmarks")[0].splitlines() if row.startswith("| ")][1:]
"""The table column about Reprise, with numbers from our own runs."""
LAST_WORDS = PAGE.split("a feature that none of these systems has")[1]
EVALUATIONS = r"^\| {} \| ([\d.]+) \|"  # row for all landscapes in docs/reference/tuner-evaluation.md
TABLE_7_4 = r"\| {} \| ([\d.]+) %, [\d.]+ % \|"
PATTERN = r"^\| `{}` \|.*\| (\d+) % \([-\d]+ to \d+\) \|$"  # row for small reads
FOUND = [
    (
        r"median of (\d+) evaluations until within (\d+) % on (\d+) landscapes, random search (\d+)",
        "tuner-evaluation.md",
        [
            EVALUATIONS.format("gp-ei"),
            r"within (\d+) % of the opt",
            r"each of (\d+) land",
            EVALUATIONS.format("random"),
        ],
    ),
    (
        r"with their defaults: (\d+), (\d+), (\d+), (\d+) and (\d+) evaluations",
        "tuner-evaluation.md",
        [EVALUATIONS.format(one) for one in ("optuna-tpe", "hyperopt-tpe", "smac3", "skopt-gp", "nevergrad")],
    ),
    (
        r"([\d.]+) evaluations until within (\d+) % of the best on one of its two grids, ([\d.]+) on the other",
        "tuner-evaluation.md",
        [
            r"^\| gp-ei \|(?:[^|]*\|){5} ([\d.]+) \|",
            r"within (\d+) % of the optimum",
            r"^\| gp-ei \|(?:[^|]*\|){6} ([\d.]+) \|",
        ],
    ),
    (
        r"([\d.]+) ms a match with ([\d,]+) records",
        "matching-speed.md",
        [r"^\| 2,000 \|.*?\| ([\d.]+) ms", r"^\| (2,000) \|"],
    ),
    (
        r"median gain (\d+) % of at most (\d+) %, (\d+) % to the right application, none of (\d+) unknown ones matched",
        "explanation/scenario.md",
        [
            TABLE_7_4.format("median, mean gain over the default"),
            TABLE_7_4.format("of the best setting of the grid"),
            r"\| right application, right nodes \| (\d+) %",
            r"\| unknown applications matched \| 0 of (\d+) \|",
        ],
    ),
    (
        r"One figure is worse here: (\d+) % of the records had the job's number of nodes, there (\d+) %",
        "explanation/scenario.md",
        [r"\| right application, right nodes \| \d+ %, (\d+) %", r"\| right application.*\| \d+ %, (\d+) % \|$"],
    ),
    (
        r"with ([\d,]+) records: (\d+) ms a job; ours ([\d.]+) ms",
        "matching-speed.md",
        [r"nearest five of ([\d,]+) records", r"against (\d+) ms\)", r"in recordlinkage \(([\d.]+) against"],
    ),
    (
        r"an open one: (\d+), (\d+), (\d+) and (\d+) % faster than none on the four patterns",
        "small-reads.md",
        [PATTERN.format(one) for one in "abcd"],
    ),
    (
        r"([\d.]+) % slower at most for programs that it cannot help",
        "small-reads.md",
        [r"cannot help took ([\d.]+) % longer"],
    ),
    (
        r"takes ([\d.]+) % of the time of an exhaustive search, and its result is ([\d.]+) % from the best on average "
        r"\(median (\d+)\); the published method, run here: ([\d.]+) % and ([\d.]+) %",
        "explanation/openmpi.md",
        [
            r"\| share of the exhaustive search's time \| ([\d.]+) %",
            r"\| distance to the best, mean of 24 problems \| ([\d.]+) %",
            r"^\| median \| (\d+) %",
            r"\| share of the exhaustive search's time \| [\d.]+ % \| ([\d.]+) %",
            r"\| distance to the best, mean of 24 problems \| [\d.]+ % \| ([\d.]+) %",
        ],
    ),
    (
        r"None of (\d+) rules was slower than the default",
        "explanation/openmpi.md",
        [r"None of the (\d+) rules that were written was slower"],
    ),
    (
        r"(\d+) to (\d+) % less time by kernel",
        "sizes.md",
        [r"^\| strided.*?\| (\d+) % \|", r"^\| GenericIO.*?\| (\d+) % \|"],
    ),
    (
        r"for sizes never run, the models' settings gain (\d+) % of the gain of campaigns there, "
        r"in ([\d.]+) % of the time",
        "sizes.md",
        [r"models chose gained (\d+) % of what campaigns gained there", r"there,\s+after\s+([\d.]+) % of their time"],
    ),
    (
        r"within (\d+) jobs in (\d+) % of simulated productions with the worst noise",
        "explanation/benefit.md",
        [r"quarantined within (\d+) jobs", r"^\| 5 % times Student's t.*?\| ([\d.]+) % \|"],
    ),
]
"""Words of this page with figures, the page that has them from a benchmark, and where each stands there."""


def same(figure: str) -> str:
    return figure.replace(",", "").removesuffix(".0")


@pytest.mark.parametrize(("words", "page", "places"), FOUND, ids=lambda one: one[:40] if isinstance(one, str) else "")
def test_figures_are_those_of_the_page_that_has_them(words: str, page: str, places: list[str]) -> None:
    (said,) = re.findall(words, PAGE.replace("\n", " "))
    (path,) = (ROOT / "docs").rglob(page)
    text = path.read_text()
    there = [re.search(place, text, re.MULTILINE) for place in places]
    assert [same(one) for one in ([said] if isinstance(said, str) else said)] == [
        same(one[1]) if one else "" for one in there
    ]


def test_none_is_told_of_what_was_run_here_but_these() -> None:
    assert len(OURS) > 6
    for told in OURS:
        for words, _, _ in FOUND:
            told = re.sub(words, "", told)
        assert re.findall(r"\d+", told) == []


def test_no_good_record_is_set_aside_in_any_production() -> None:
    productions = re.search(
        r"(\d+) simulations of 50,000 jobs for each kind of noise", (ROOT / "docs/explanation/benefit.md").read_text()
    )
    table = re.findall(
        r"^\| .* \| [\d.]+ % \| \d+ \| (\d+) % \| [\d.]+ % \|$",
        (ROOT / "docs/explanation/benefit.md").read_text(),
        re.MULTILINE,
    )
    assert productions and table == ["0", "0", "0"]
    assert f"no good one in any of {len(table) * int(productions[1])}" in LAST_WORDS


def test_what_it_cannot_help_is_told_by_the_worst_and_kernels_by_least_and_most() -> None:
    page = (ROOT / "docs/explanation/small-reads.md").read_text()
    worst, *others = re.findall(
        r"took ([\d.]+) % (longer|less time)", page.split("Programs that the library cannot help")[1]
    )
    assert (
        worst == max((one for one in others if one[1] == "longer"), key=lambda one: float(one[0])) and len(others) == 3
    )
    kernels = re.findall(r"^\| [^|]+ \| (\d+) % \|", (ROOT / "docs/explanation/sizes.md").read_text(), re.MULTILINE)
    assert len(kernels) == 4 and (min(kernels, key=int), max(kernels, key=int)) == (kernels[0], kernels[-1])
