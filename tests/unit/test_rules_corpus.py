# SPDX-License-Identifier: Apache-2.0
"""The emulator does with each file of the corpus what the real releases did."""

from __future__ import annotations

import pytest

from tests.unit.rules_corpus import CASES, HAN_CASES, golden
from tuner.collectives.algorithms import known_algorithms
from tuner.collectives.catalogue import compared_bytes
from tuner.collectives.rules import han
from tuner.collectives.rules.classic import DroppedError
from tuner.collectives.rules.model import decide
from tuner.collectives.rules.releases import family_of, read

OUTCOMES = golden()
RELEASES = tuple(OUTCOMES["tuned"]["a rule"])
WITH_NEW_LIBRARY = ("5.0.7",)  # Debian 13's, built with glibc 2.41
SIZE_SHOWN = 2**31  # han prints sizes as C ints


def test_all_cases_were_asked_of_all_releases() -> None:
    assert set(OUTCOMES["tuned"]) == set(CASES)
    assert set(OUTCOMES["han"]) == set(HAN_CASES)
    assert all(set(outcomes) == set(RELEASES) for cases in OUTCOMES.values() for outcomes in cases.values())
    assert {family_of(release).name for release in RELEASES} >= {"4.1.0-4.1.7", "4.1.8+", "5.0.7+"}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", CASES)
def test_a_rules_file_is_read_as_the_real_release_reads_it(name: str, release: str) -> None:
    family, case = family_of(release), CASES[name]
    reading = read(case.data, family, binary=release in WITH_NEW_LIBRARY)
    failed = []
    for call in case.calls:
        collective, size, ranks = call.split(":")
        compared = compared_bytes(collective, int(size), int(ranks))
        choice = decide(reading.rules, collective, 1, int(ranks), compared)
        if choice.algorithm not in family.algorithms[collective]:
            failed.append(call)
    assert failed == OUTCOMES["tuned"][name][release]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", HAN_CASES)
def test_a_file_of_hans_is_read_as_the_real_release_reads_it(name: str, release: str) -> None:
    series = family_of(release).series
    try:
        rules = han.read(HAN_CASES[name], series != "4.1", known_algorithms("han", series))
    except DroppedError:
        assert OUTCOMES["han"][name][release] is None
        return
    rows = [
        [collective, level, entry.ranks, row.size if row.size < SIZE_SHOWN else -1, row.component]
        for (collective, level), entries in rules.items()
        for entry in entries
        for row in entry.rows
    ]
    shadowed = 1 if name == "a collective twice" else 0  # printed as it was read, and never found
    assert rows == OUTCOMES["han"][name][release][shadowed:]
