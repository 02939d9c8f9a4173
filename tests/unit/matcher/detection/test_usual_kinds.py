# SPDX-License-Identifier: Apache-2.0
"""Test which kinds of accesses count as usual for a program."""

from __future__ import annotations

import pytest

from reprise.matcher.detection.record_patterns import known_kinds
from reprise.matcher.detection.usual_kinds import RUNS, usual_kinds

STRIDED, LARGE, OWN = "write/shared/strided/64K", "write/shared/strided/1M", "write/per-process/contiguous/1M"
READ = "read/shared/contiguous/1M"
KIND, OWN_KIND, READ_KIND = "write/shared/strided", "write/per-process/contiguous", "read/shared/contiguous"


@pytest.mark.parametrize(
    ("runs", "found"),
    [
        ([], ()),
        ([{STRIDED: 100}], (KIND,)),
        ([{STRIDED: 40, LARGE: 35, OWN: 25}], (KIND,)),
        ([{STRIDED: 74, OWN: 26}], ()),
        ([{STRIDED: 50, "unknown": 50}], (KIND,)),
        ([{STRIDED: 49, "unknown": 51}], ()),
        ([{STRIDED: 49, "write/of/another/release": 51}], ()),
        ([{STRIDED: 90, READ: 10}], (READ_KIND, KIND)),
        ([{STRIDED: 91, READ: 9}], (KIND,)),
        ([{STRIDED: 0}], ()),
        ([{"unknown": 9}, {STRIDED: 1}], (KIND,)),
        ([{STRIDED: 1}] * 3 + [{OWN: 10**15}], (KIND,)),
        ([{STRIDED: 1}] * 2 + [{OWN: 1}], ()),
        ([{STRIDED: 1}] * 2 + [{STRIDED: 1, OWN: 1}], ()),
        ([{STRIDED: 1}] * RUNS + [{OWN: 1}] * 100, (KIND,)),
        ([{READ: 1}, {STRIDED: 1}], (READ_KIND, KIND)),
    ],
)
def test_a_kind_is_usual_if_most_bytes_and_runs_have_it(runs: list[dict[str, int]], found: tuple[str, ...]) -> None:
    assert usual_kinds(runs) == found


def test_only_kinds_that_are_known_are_compared() -> None:
    wrong = ["", "write", "write/shared", "write/new/strided", KIND + "/64K", "/".join("////"), "WRITE/shared/strided"]
    assert known_kinds([KIND, READ_KIND, KIND, *wrong]) == (READ_KIND, KIND)
    assert known_kinds([OWN_KIND]) == (OWN_KIND,)
