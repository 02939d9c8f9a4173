# SPDX-License-Identifier: Apache-2.0
"""Test how patterns of jobs are added up, and compared with those of records."""

from __future__ import annotations

from typing import Any

import pytest

from reprise.database.entities import JobPattern
from reprise.database.job_patterns import Seen
from reprise.database.record_io_kinds import PATTERNS, kinds_in
from reprise.matcher.council.access_pattern import pattern_of
from reprise.matcher.detection import seen_patterns
from reprise.matcher.detection.record_patterns import kind_of, otherwise
from reprise.matcher.detection.seen_patterns import SeenPatterns

TEXT = "write/shared/strided/16K"
STRIDED = pattern_of(TEXT)


def test_seconds_and_bytes_are_added_up_by_pattern_until_they_are_taken() -> None:
    seen = SeenPatterns()
    for pattern, size in ((STRIDED, 100), (STRIDED, 50), (None, 7)):
        seen.see("4711", pattern, 0.5, size)
    seen.see("12-steady", STRIDED, 1.0, 1)
    seen.see("4711", STRIDED, 1.0, 5, 1000)
    assert seen.taken() == [
        Seen(4711, TEXT, 1.0, 150),
        Seen(4711, "unknown", 0.5, 7),
        Seen(12, TEXT, 1.0, 1),
        Seen(4711, TEXT, 1.0, 5, 1000),
    ]
    assert seen.taken() == []


@pytest.mark.parametrize("name", ["", "alice", "other", "0", "-1", "007", "4711; DROP", "4294967296", "1-", "4711\n"])
def test_names_that_are_no_numbers_of_jobs_are_left_out(name: str) -> None:
    seen = SeenPatterns()
    seen.see(name, STRIDED, 1.0, 1)
    assert seen.taken() == []


def test_names_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_patterns, "MOST_JOBS", 2)
    seen = SeenPatterns()
    for number in (1, 2, 3, 2):
        seen.see(str(number), STRIDED, 1.0, 1)
    assert {one.job: one.bytes for one in seen.taken()} == {1: 1, 2: 2}


def of(**bytes_of: int) -> list[JobPattern]:
    names = {"strided": TEXT, "own": "write/per-process/contiguous/4M", "unknown": "unknown", "new": "write/new/7"}
    return [JobPattern(1, names[name], 1.0, count) for name, count in bytes_of.items()]


KINDS = ["write/shared/strided"]


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (of(strided=100), False),
        (of(own=100), True),
        (of(strided=51, own=49), False),
        (of(strided=49, own=51), True),
        (of(own=50, unknown=50), True),
        (of(own=49, unknown=51), None),
        (of(own=49, new=51), None),
        (of(unknown=100), None),
        (of(strided=0), None),
        ([], None),
    ],
)
def test_a_job_behaves_otherwise_if_most_of_its_known_bytes_do(patterns: list[JobPattern], found: bool | None) -> None:
    assert otherwise(patterns, KINDS) is found
    assert otherwise(patterns, []) is None


def test_the_kind_of_a_pattern_leaves_out_the_size() -> None:
    assert kind_of(TEXT) == KINDS[0]
    assert kind_of("unknown") is None and kind_of("write/new/7") is None


def test_the_kinds_of_a_record_are_those_of_its_part() -> None:
    own = {"parameters": {"forwarders": 2}, PATTERNS: KINDS}
    assert list(kinds_in(own)) == KINDS
    assert kinds_in({"parts": {"forwarders": {"parametrization": own}, "romio": {}}}) == tuple(KINDS)
    others: list[dict[str, Any]] = [
        {},
        {PATTERNS: None},
        {PATTERNS: 3},
        {PATTERNS: [3]},
        {"parts": {"romio": {}}},
        {"parts": 3},
    ]
    assert [kinds_in(one) for one in others] == [()] * len(others)
