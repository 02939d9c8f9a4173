# SPDX-License-Identifier: Apache-2.0
"""Test the reading of rules files: numbers as in the C library, and the classic form in each release's reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.tuner.errors import TunerError
from reprise.tuner.openmpi.rules import classic_form
from reprise.tuner.openmpi.rules.classic_form import Dialect, DroppedError
from reprise.tuner.openmpi.rules.releases import FAMILIES, NODE_LEVEL, assumption, family_of, read, series_of
from reprise.tuner.openmpi.rules.rules_model import BUILT_IN, RANKS_MAX, SIZE_MAX, Choice, decide, differences
from reprise.tuner.openmpi.rules.scan import BINARY, OLDEST, STRICT, EndError, Scan

OLD, NEW, SIX = family_of("4.1.4"), family_of("5.0.7"), family_of("6.0.0")


def numbers(data: bytes, libc: int = OLDEST) -> Iterator[int]:
    scan = Scan(data, libc)
    try:
        while True:
            yield scan.number()
    except EndError:
        return


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"1 2 3", [1, 2, 3]),
        (b"010 0x10 08 0X1f", [8, 16, 0, 8, 31]),
        (b"1 # 2 3\n4", [1, 4]),
        (b"a1b-2", [1, -2]),
        (b"-x5 +7", [5, 7]),
        (b"- 5 6", [5, 6]),
        (b"--5", [5]),
        (b"-#5\n6", [6]),
        (b"- #5\n6", [6]),
        (b"0xg5", [0, 5]),
        (b"-0x10", [-16]),
        (b"1.5 1e3", [1, 5, 1, 3]),
        (b"1\r\n2\0003", [1, 2, 3]),
        (b"9223372036854775808 -9223372036854775809", [2**63 - 1, -(2**63)]),
        (b"# only a comment", []),
        (b"5 -", [5]),
        (b"0b11", [0, 11]),
    ],
)
def test_numbers_are_read_as_the_c_library_does(data: bytes, expected: list[int]) -> None:
    assert list(numbers(data)) == expected


def test_a_newer_c_library_reads_binary_numbers() -> None:
    assert list(numbers(b"0b11 0b 0b2", libc=BINARY)) == [3, 0, 0, 2]


def test_the_newest_c_library_reads_no_number_from_a_prefix_without_digits() -> None:
    assert list(numbers(b"0x5 0x 7 -0b2 08 0x#9\n0b11 3 0x", libc=STRICT)) == [5, 7, 0, 8, 3, 3]
    assert list(numbers(b"0x 7 0b2", libc=BINARY)) == [0, 7, 0, 2]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "ends where the number of collectives"),
        (b"1 7 1 0 1 1024 1 0 0", "line 1: the first message size of a communicator entry is 1024, not 0"),
        (b"1 7 1 0 1\n0 1 0 -1", "line 2: a segment size is negative"),
        (b"1 22 1 0 1 0 1 0 0", "id 22"),
        (b"2 7 1 0 1 0 1 0 0 2 1 0 1 0 1", "ends where a fan-out .*: a number of message sizes is 1, but number 1 is"),
        (b"1 7 1 0 2 0 1 0 0", "a number of message sizes is 2, but number 2 is cut off$"),
        (b"23", "too many, since only 22 exist"),
        (b"rule-file-version-2\n1 7 1 0 1 0 1 0 0", "negative"),
        (b"1 2 1 8 1 64 2 0 7 4 32 1024 1 4 64", "64, not 0"),
    ],
)
def test_a_file_that_4_1_does_not_understand_is_dropped_as_a_whole(data: bytes, why: str) -> None:
    with pytest.raises(DroppedError, match=why):
        classic_form.read(data, Dialect())
    reading = read(data, OLD)
    assert reading.rules == {}
    assert reading.dropped


def algorithms(data: bytes, sizes: Sequence[int], ranks: int = 4) -> list[int]:
    return [decide(read(data, OLD).rules, "bcast", 1, ranks, size).algorithm for size in sizes]


def test_thresholds_are_inclusive_and_the_last_one_not_larger_counts() -> None:
    assert algorithms(b"1 7 1 0 2 0 3 0 0 1024 5 0 0", [0, 1023, 1024, 2**31, SIZE_MAX]) == [3, 3, 5, 5, 5]


def test_unsorted_thresholds_end_the_scan() -> None:
    assert algorithms(b"1 7 1 0 3 0 1 0 0 1024 2 0 0 512 3 0 0", [700, 2000]) == [1, 3]


@pytest.mark.parametrize("data", [b"1 7 0", b"1 7 1 0 0", b"0", b"1 7 1 0 1 0 0 4 8"])
def test_without_entries_rows_or_algorithm_the_built_in_rules_decide(data: bytes) -> None:
    assert decide(read(data, OLD).rules, "bcast", 1, 4, 1) == BUILT_IN


def test_a_communicator_below_all_entries_gets_the_first_entry_without_a_level_of_nodes() -> None:
    assert algorithms(b"1 7 1 64 1 0 3 0 0", [10], ranks=2) == [3]
    nodes = read(b"1 7 1 2 1 64 1 0 3 0 0", NODE_LEVEL).rules
    assert [decide(nodes, "bcast", n, r, 8).algorithm for n, r in [(2, 63), (2, 64), (1, 64), (9, 999)]] == [0, 3, 0, 3]


def test_a_node_entry_without_rules_hides_those_of_fewer_nodes() -> None:
    rules = read(b"1 7 2 1 1 1 1 0 3 0 0 4 0", NODE_LEVEL).rules
    assert [decide(rules, "bcast", nodes, 8, 8).algorithm for nodes in (1, 3, 4)] == [3, 3, 0]


def test_release_6_uses_an_entry_up_to_its_key_and_older_releases_from_it_on() -> None:
    data = b"1 7 3 2 1 0 1 0 0 16 1 0 2 0 0 64 1 0 3 0 0"
    chosen = {
        family.name: [decide(read(data, family).rules, "bcast", 1, n, 8).algorithm for n in (1, 2, 16, 64)]
        for family in FAMILIES
    }
    assert chosen.pop("6") == [1, 2, 3, 3]
    assert set(map(tuple, chosen.values())) == {(1, 1, 2, 3)}


def test_a_fifth_number_is_read_only_after_a_header() -> None:
    data = b"rule-file-version-2\n1 3 1 0 2\n0 4 0 0 7\n1024 4 0 0\n"
    assert decide(read(data, NEW).rules, "alltoall", 1, 4, 8) == Choice(4, requests=7)
    assert decide(read(data, NEW).rules, "alltoall", 1, 4, 4096) == Choice(4)
    assert read(data, OLD).dropped


@pytest.mark.parametrize("release", ["4.0.7", "3.1.0", "5.1.0", "1.2.3"])
def test_a_release_with_an_unknown_reader_is_refused_by_name(release: str) -> None:
    with pytest.raises(TunerError, match=f"{release}: its format of rules files is unknown"):
        family_of(release)


def test_releases_belong_to_families() -> None:
    releases = ["4.1.0", "4.1.7", "4.1.8", "4.1.12", "5.0.0", "5.0.6", "5.0.7", "5.0.11", "6.0.0rc1", "6.1.0", "7.0.0"]
    names = [family_of(release).name for release in releases]
    assert names == ["4.1.0-4.1.7"] * 2 + ["4.1.8+"] * 2 + ["5.0.0-5.0.6"] * 2 + ["5.0.7+"] * 2 + ["6"] * 3
    assert family_of("5.0.7+") is NEW


@pytest.mark.parametrize("release", ["4.1.4", "4.1.12", "5.0.7", "5.0.7+", "6.0.0rc2", "6.0.3", "6", "nodes"])
def test_nothing_is_assumed_about_a_release_of_a_known_series(release: str) -> None:
    assert not assumption(release)


@pytest.mark.parametrize(("release", "series"), [("6.1.0", "6.1"), ("7.0.1", "7.0"), ("12.0.0", "12.0")])
def test_a_series_that_was_never_compared_is_read_as_6_and_unproved(release: str, series: str) -> None:
    assert series_of(release) == series
    assert assumption(release).startswith(f"{release} is assumed to read files as 6 does, which is unproved")


# Bytes that are similar to valid files: readers ignore almost all files of random bytes, which would test little.
WORDS = ["0", "1", "2", "3", "4", "7", "8", "16", "64", "99", "1024", "-1", "2147483648", "4294967299", "07", "0x8"]
NEARLY = st.one_of(
    st.binary(max_size=80),
    st.lists(st.sampled_from([*WORDS, "#", "\n", "x", "rule-file-version-2"]), max_size=40)
    .map(" ".join)
    .map(str.encode),
    st.lists(st.integers(0, 9), min_size=5, max_size=30).map(lambda n: ("1 7 " + " ".join(map(str, n))).encode()),
)


@settings(deadline=None)
@given(NEARLY)
def test_no_bytes_make_a_reader_fail_otherwise_than_by_dropping(data: bytes) -> None:
    for family in (*FAMILIES, NODE_LEVEL):
        for libc in (OLDEST, BINARY, STRICT):
            assert isinstance(read(data, family, libc).rules, dict)


# The reference for the next test: releases up to 5.0 go through the entries in order, stop at the first entry that is
# too large, and use the entry before it (or else the first entry).
def walk(keys: Sequence[int], actual: int) -> int:
    best = 0
    for number, key in enumerate(keys):
        if key > actual:
            break
        best = number
    return best


KEYS = st.lists(st.integers(0, 9), min_size=1, max_size=6)


@settings(deadline=None)
@given(KEYS, KEYS, st.integers(0, 10), st.integers(0, 10))
def test_ranges_decide_as_a_walk_along_the_entries(comms: list[int], sizes: list[int], ranks: int, size: int) -> None:
    sizes = [0, *sizes]
    rows = " ".join(f"{size} {number + 1} 0 0" for number, size in enumerate(sizes))
    entries = " ".join(f"{key} {len(sizes)} {rows.replace(' 0 0', f' {number} 0')}" for number, key in enumerate(comms))
    rules = read(f"1 7 {len(comms)} {entries}".encode(), OLD).rules
    assert decide(rules, "bcast", 1, ranks, size) == Choice(walk(sizes, size) + 1, walk(comms, ranks))


def _ranges_of_6(keys: Sequence[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number, key in enumerate(keys):
        low = found[-1][1] + 1 if found else 0
        found.append((low, RANKS_MAX if number == len(keys) - 1 else key - 1))
    return found


@settings(deadline=None)
@given(KEYS, st.integers(0, 10))
def test_release_6_uses_the_first_entry_whose_range_contains_the_communicator(comms: list[int], ranks: int) -> None:
    entries = " ".join(f"{key} 1 0 {number + 1} 0 0" for number, key in enumerate(comms))
    found = decide(read(f"1 7 {len(comms)} {entries}".encode(), SIX).rules, "bcast", 1, ranks, 8).algorithm
    holding = [n for n, (low, high) in enumerate(_ranges_of_6(comms)) if low <= ranks <= high]
    assert found == (holding[0] + 1 if holding else 0)


@settings(deadline=None)
@given(KEYS, KEYS, st.integers(1, 12), st.integers(0, 12))
def test_a_difference_is_found_wherever_there_is_one(one: list[int], other: list[int], ranks: int, size: int) -> None:
    def rules(keys: list[int]) -> bytes:
        entries = " ".join(f"{key} 2 0 {number + 1} 0 0 {key} 0 0 0" for number, key in enumerate(keys))
        return f"1 7 {len(keys)} {entries}".encode()

    first, second = read(rules(one), OLD).rules, read(rules(other), SIX).rules
    found = list(differences(first, second))
    for call in found:
        assert decide(first, *call) != decide(second, *call)
    if not found:
        assert decide(first, "bcast", 1, ranks, size) == decide(second, "bcast", 1, ranks, size)
