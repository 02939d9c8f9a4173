# SPDX-License-Identifier: Apache-2.0
"""Test that the emulator treats each file of the corpus as the real releases did."""

from __future__ import annotations

from typing import Any

import pytest

from reprise.tuner.openmpi.algorithms import known_algorithms
from reprise.tuner.openmpi.rules import han_file
from reprise.tuner.openmpi.rules.classic_form import DroppedError
from reprise.tuner.openmpi.rules.releases import family_of, read
from tests.unit.rules_corpus import CASES, HAN_CASES, OVERRUNS, failing, golden

OUTCOMES = golden()
RELEASES = tuple(OUTCOMES["tuned"]["a rule"])
SIZE_SHOWN = 2**31  # han prints sizes as C ints, which are below this limit


def test_the_corpus_has_an_outcome_for_each_case_and_release() -> None:
    assert set(OUTCOMES["tuned"]) == set(CASES)
    assert set(OUTCOMES["han"]) == set(HAN_CASES)
    assert set(OUTCOMES["overruns"]) == set(OVERRUNS)
    assert all(set(outcomes) == set(RELEASES) for cases in OUTCOMES.values() for outcomes in cases.values())
    assert {family_of(release).name for release in RELEASES} >= {"4.1.0-4.1.7", "4.1.8+", "5.0.7+", "6"}


@pytest.mark.parametrize("release", RELEASES)
def test_rules_files_are_read_as_the_real_release_reads_them(release: str) -> None:
    """All cases of a release are in one test, because pytest would take five seconds for 900 tests of a millisecond."""
    found = {name: failing(case.data, release, case.calls) for name, case in CASES.items()}
    assert found == {name: OUTCOMES["tuned"][name][release] for name in CASES}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", OVERRUNS)
def test_a_file_that_crashes_jobs_is_recognized(name: str, release: str) -> None:
    """A write beyond an array does not always crash a job, so a crash of one release counts for every release."""
    reading = read(OVERRUNS[name], family_of(release))
    assert reading.crashes
    assert not reading.rules
    assert any(OUTCOMES["overruns"][name].values())


def rows_of_han(name: str, release: str) -> list[list[Any]] | None:
    """Return the rows as han prints them, or None if han ignores the file."""
    series = family_of(release).series
    try:
        rules = han_file.read(HAN_CASES[name], series != "4.1", known_algorithms("han", series))
    except DroppedError:
        return None
    return [
        [collective, level, entry.ranks, row.size if row.size < SIZE_SHOWN else -1, row.component]
        for (collective, level), entries in rules.items()
        for entry in entries
        for row in entry.rows
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_files_for_han_are_read_as_the_real_release_reads_them(release: str) -> None:
    outcomes = {name: OUTCOMES["han"][name][release] for name in HAN_CASES}
    # han prints both entries of the collective, but never uses the first
    outcomes["a collective twice"] = outcomes["a collective twice"][1:]
    assert {name: rows_of_han(name, release) for name in HAN_CASES} == outcomes
