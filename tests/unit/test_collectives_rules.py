# SPDX-License-Identifier: Apache-2.0
"""Rules files: as Open MPI 4.1 reads them, as they are compiled, and that both agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.collectives_values import BUILD
from tuner.collectives.build import OpenMPIBuild
from tuner.collectives.catalogue import CATALOGUE, compared_bytes
from tuner.collectives.compiler import Table, compile_rules, emit
from tuner.collectives.rules import DroppedError, Row, decide, numbers, parse, read
from tuner.errors import TunerError

BCAST = 7


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 2 3", [1, 2, 3]),
        ("010 0x10 08", [8, 16, 0, 8]),
        ("1 # 2 3\n4", [1, 4]),
        ("a1b-2", [1, -2]),
        ("-x5 +7", [5, 7]),
        ("- 5 6", [6]),
        ("0xg5", [0, 5]),
        ("# only a comment", []),
    ],
)
def test_numbers_are_read_as_the_c_library_does(text: str, expected: list[int]) -> None:
    assert list(numbers(text)) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "ends where the number of collectives"),
        ("1 7 1 0 1 1024 1 0 0", "1024, not 0"),
        ("1 7 1 0 1 0 1 0 -1", "negative"),
        ("1 22 1 0 1 0 1 0 0", "id 22"),
        ("2 7 1 0 1 0 1 0 0 2 1 0 1 0 1", "ends where a fan-out"),
        ("23", "more than the 22"),
        ("rule-file-version-2\n1 7 1 0 1 0 1 0 0", "negative"),
        ("1 2 1 8 1 64 2 0 7 4 32 1024 1 4 64", "64, not 0"),
    ],
)
def test_a_file_that_4_1_does_not_understand_is_dropped_as_a_whole(text: str, why: str) -> None:
    with pytest.raises(DroppedError, match=why):
        parse(text)
    assert read(text) == {}


def test_thresholds_are_inclusive_and_the_last_one_not_larger_counts() -> None:
    rules = parse("1 7 1 0 2 0 3 0 0 1024 5 0 0")
    assert decide(rules, BCAST, 4, 1023) == Row(0, 3)
    assert decide(rules, BCAST, 4, 1024) == Row(1024, 5)


def test_a_communicator_smaller_than_all_entries_gets_the_first_one() -> None:
    assert decide(parse("1 7 1 64 1 0 3 0 0"), BCAST, 2, 10) == Row(0, 3)


def test_unsorted_thresholds_end_the_scan() -> None:
    rules = parse("1 7 1 0 3 0 1 0 0 1024 2 0 0 512 3 0 0")
    assert decide(rules, BCAST, 4, 700) == Row(0, 1)
    assert decide(rules, BCAST, 4, 2000) == Row(512, 3)


def test_a_collective_without_entries_or_rows_has_no_rule() -> None:
    assert decide(parse("1 7 0"), BCAST, 4, 1) is None
    assert decide(parse("1 7 1 0 0"), BCAST, 4, 1) is None
    assert decide(parse("0"), BCAST, 4, 1) is None


GOLDEN = """\
# made for a test
2 # collectives
7 # bcast
3 # communicator sizes
1 # ranks and more
1 # message sizes: from byte, algorithm, fan-out, segment
0 0 0 0 # built-in rules
4 # ranks and more
3 # message sizes: from byte, algorithm, fan-out, segment
0 0 0 0 # built-in rules
65536 4 4 32768 # split_binary_tree
1048576 3 4 8192 # pipeline
5 # ranks and more
1 # message sizes: from byte, algorithm, fan-out, segment
0 0 0 0 # built-in rules
9 # gather
3 # communicator sizes
1 # ranks and more
1 # message sizes: from byte, algorithm, fan-out, segment
0 0 0 0 # built-in rules
4 # ranks and more
3 # message sizes: from byte, algorithm, fan-out, segment
0 0 0 0 # built-in rules
4096 2 4 0 # binomial
16384 0 0 0 # built-in rules
5 # ranks and more
1 # message sizes: from byte, algorithm, fan-out, segment
0 0 0 0 # built-in rules
"""


def test_the_compiled_file_is_the_golden_one() -> None:
    table = {
        "gather": {4: [Row(1024, 2, 4, 0), Row(2048, 2, 4, 0), Row(4096, 0, 4, 0)]},
        "bcast": {4: [Row(1048576, 3, 4, 8192), Row(1024, 0, 4, 0), Row(65536, 4, 4, 32768)]},
    }
    assert emit(compile_rules(table, BUILD), ["made for\na test"], BUILD) == GOLDEN


def test_a_collective_where_nothing_was_chosen_is_left_out() -> None:
    assert compile_rules({"bcast": {4: [Row(1024, 0, 4, 0)]}}, BUILD) == {}


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({"bcast": {4: [Row(8, 10)]}}, "no algorithm 10"),
        ({"allreduce": {4: [Row(8, 7)]}}, "no algorithm 7"),
        ({"bcats": {4: [Row(8, 1)]}}, "no rules for it"),
        ({"bcast": {1: [Row(8, 1)]}}, "2 tasks or more"),
        ({"bcast": {4: [Row(8, 1), Row(8, 2)]}}, "given twice"),
        ({"bcast": {4: [Row(8, 1, -1)]}}, "negative"),
    ],
)
def test_what_would_hurt_a_job_is_not_compiled(table: dict[str, dict[int, list[Row]]], why: str) -> None:
    with pytest.raises(TunerError, match=why):
        compile_rules(table, BUILD)


def test_ids_are_those_of_the_build_and_not_of_a_table() -> None:
    newer = OpenMPIBuild("4.1.99", {"bcast": {**BUILD.algorithms["bcast"], 10: "new"}}, {})
    assert compile_rules({"bcast": {4: [Row(8, 10)]}}, newer)


COLLECTIVES = ("allgather", "allreduce", "alltoall", "bcast", "gather", "reduce", "reduce_scatter", "scatter")


@st.composite
def tables(draw: st.DrawFn) -> dict[str, dict[int, list[Row]]]:
    table: dict[str, dict[int, list[Row]]] = {}
    for name in draw(st.sets(st.sampled_from(COLLECTIVES), min_size=1)):
        table[name] = {}
        for ranks in draw(st.sets(st.integers(2, 70), min_size=1, max_size=3)):
            sizes = draw(st.sets(st.integers(0, 1 << 21), min_size=1, max_size=5))
            table[name][ranks] = [
                Row(
                    size,
                    draw(st.sampled_from(sorted(BUILD.algorithms[name]))),
                    draw(st.integers(0, 64)),
                    draw(st.sampled_from((0, 8, 10, 1 << 20))),
                )
                for size in sizes
            ]
    return table


def wanted(table: Table, name: str, ranks: int, size: int) -> tuple[int, int, int]:
    """What the table says: the choice at the nearest measured size from below, or nothing."""
    below = [row for row in table.get(name, {}).get(ranks, []) if row.size <= size]
    if not below:
        return (0, 0, 0)
    row = max(below, key=lambda row: row.size)
    return (row.algorithm, row.fanout, row.segment) if row.algorithm else (0, 0, 0)


@given(tables(), st.sampled_from(COLLECTIVES), st.integers(1, 80), st.integers(0, 1 << 22))
def test_a_file_decides_every_call_as_its_table_says(table: Table, name: str, ranks: int, size: int) -> None:
    rules = parse(emit(compile_rules(table, BUILD), [], BUILD))
    sizes = [size] + [row.size + step for rows in table.get(name, {}).values() for row in rows for step in (-1, 0, 1)]
    for comm_size in {ranks, *(n + step for n in table.get(name, {}) for step in (-1, 0, 1))}:
        for stated in sizes:
            if stated >= 0:
                row = decide(rules, CATALOGUE[name].id, comm_size, compared_bytes(name, stated, comm_size))
                found = (row.algorithm, row.fanout, row.segment) if row else (0, 0, 0)
                assert found == wanted(table, name, comm_size, stated)


@given(st.text(alphabet="0123456789x#+- \nab", max_size=60))
def test_no_text_makes_the_reader_fail_otherwise_than_by_dropping(text: str) -> None:
    assert isinstance(read(text), dict)
