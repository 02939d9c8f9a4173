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
EVALUATIONS = r"^\| {} \| ([\d.]+) \|"  # a method's row in tuner-evaluation.md; the number is for all landscapes
TABLE_7_4 = r"\| {} \| ([\d.]+) %, [\d.]+ % \|"
PATTERN = r"^\| `{}` \|.*\| (\d+) % \([-\d]+ to \d+\) \|$"  # an access pattern's row in small-reads.md
FOUND = [
    (
        r"On (\d+) landscapes, the search found a point within (\d+) % of the optimum after a median of (\d+) "
        r"evaluations, and random search after (\d+)",
        "tuner-evaluation.md",
        [
            r"each of (\d+) land",
            r"within (\d+) % of the opt",
            EVALUATIONS.format("gp-ei"),
            EVALUATIONS.format("random"),
        ],
    ),
    (
        r"a median of (\d+), (\d+), (\d+), (\d+) and (\d+) evaluations to get within (\d+) % of the optimum",
        "tuner-evaluation.md",
        [
            *(EVALUATIONS.format(one) for one in ("optuna-tpe", "hyperopt-tpe", "smac3", "skopt-gp", "nevergrad")),
            r"within (\d+) % of the optimum",
        ],
    ),
    (
        r"within (\d+) % of the optimum after a median of ([\d.]+) evaluations on one grid, and ([\d.]+) on the other",
        "tuner-evaluation.md",
        [
            r"within (\d+) % of the optimum",
            r"^\| gp-ei \|(?:[^|]*\|){5} ([\d.]+) \|",
            r"^\| gp-ei \|(?:[^|]*\|){6} ([\d.]+) \|",
        ],
    ),
    (
        r"a match with ([\d,]+) records takes ([\d.]+) ms",
        "matching-speed.md",
        [r"^\| (2,000) \|", r"^\| 2,000 \|.*?\| ([\d.]+) ms"],
    ),
    (
        r"jobs gained (\d+) % in the median; the best settings of the grid would have gained (\d+) %. (\d+) % of the "
        r"jobs were matched to the right application, and none of (\d+) jobs of unknown applications was matched",
        "explanation/scenario.md",
        [
            TABLE_7_4.format("median, mean gain over the default"),
            TABLE_7_4.format("median, mean gain of the best setting of the grid"),
            r"\| right application, right nodes \| (\d+) %",
            r"\| unknown applications matched \| 0 of (\d+) \|",
        ],
    ),
    (
        r"in Reprise, (\d+) % of the matched records had the job's number of nodes, in the thesis (\d+) %",
        "explanation/scenario.md",
        [r"\| right application, right nodes \| \d+ %, (\d+) %", r"\| right application.*\| \d+ %, (\d+) % \|$"],
    ),
    (
        r"with the same model and ([\d,]+) records, recordlinkage takes (\d+) ms per job here, and Reprise ([\d.]+) ms",
        "matching-speed.md",
        [r"nearest five of ([\d,]+) records", r"against (\d+) ms\)", r"in recordlinkage \(([\d.]+) against"],
    ),
    (
        r"four access patterns took (\d+), (\d+), (\d+) and (\d+) % less time than without a library",
        "small-reads.md",
        [PATTERN.format(one) for one in "abcd"],
    ),
    (
        r"programs that the library cannot help took ([\d.]+) % longer at most",
        "small-reads.md",
        [r"cannot help took ([\d.]+) % longer"],
    ),
    (
        r"takes ([\d.]+) % of the time of an exhaustive search, and its result is ([\d.]+) % slower than the best "
        r"on average \(median (\d+) %\). The published method, run here, takes ([\d.]+) % of the time, and its "
        r"result is ([\d.]+) % slower than the best",
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
        r"None of (\d+) rules was slower than the default beyond noise",
        "explanation/openmpi.md",
        [r"None of the (\d+) rules that were written was slower"],
    ),
    (
        r"run times of four MPI-IO kernels by (\d+) to (\d+) % on average",
        "sizes.md",
        [r"^\| strided.*?\| (\d+) % \|", r"^\| GenericIO.*?\| (\d+) % \|"],
    ),
    (
        r"settings predicted by models gained (\d+) % of what campaigns for these sizes gained, in ([\d.]+) % of the "
        r"campaigns' time",
        "sizes.md",
        [r"models chose gained (\d+) % of what campaigns gained there", r"([\d.]+)\s+% of their time"],
    ),
    (
        r"within (\d+) jobs in (\d+) % of the simulations",
        "explanation/benefit.md",
        [r"quarantined within (\d+) jobs", r"^\| 5 % times Student's t.*?\| ([\d.]+) % \|"],
    ),
]
"""Sentences of compared.md with numbers, the benchmark's page that contains these numbers, and a pattern for each
number on that page."""


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
    total = f"in none of {len(table) * int(productions[1])} simulations, {productions[1]} for each"
    assert total in " ".join(LAST_WORDS.split())


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
