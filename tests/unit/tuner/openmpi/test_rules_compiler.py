# SPDX-License-Identifier: Apache-2.0
"""Test the compilation of a table of choices into rules, and into files that decide every call as the table does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.tuner.errors import TunerError
from reprise.tuner.openmpi.catalogue import CATALOGUE, compared_bytes
from reprise.tuner.openmpi.installed_build import OpenMPIBuild
from reprise.tuner.openmpi.rules.releases import read
from reprise.tuner.openmpi.rules.rules_model import ANY_NODES, BUILT_IN, SIZE_MAX, Choice, CommRule, SizeRule, decide
from reprise.tuner.openmpi.rules.writing import Form, write
from reprise.tuner.openmpi.rules_compiler import Row, Shape, Table, compile_rules, for_nodes
from tests.examples import examples
from tests.unit.collectives_values import BUILD

FOUR = Shape(4)


def test_a_choice_applies_up_to_the_next_measured_size_and_equal_neighbors_are_merged() -> None:
    table = {"bcast": {FOUR: [Row(65536, 4, 4, 32768), Row(1024, 6), Row(2048, 6), Row(131072, 0), Row(262144, 6)]}}
    rows = (
        SizeRule(1024, 65535, Choice(6)),
        SizeRule(65536, 131071, Choice(4, 0, 32768)),
        SizeRule(262144, SIZE_MAX, Choice(6)),
    )
    assert compile_rules(table, BUILD) == {"bcast": (CommRule(rows, (4, 4), ANY_NODES),)}


def test_parameters_that_an_algorithm_ignores_are_not_written_and_the_fan_out_is_clipped() -> None:
    table = {"bcast": {FOUR: [Row(8, 2, 64, 1024), Row(16, 1, 64, 1024), Row(32, 1, 2, 8), Row(64, 7, 64, 8)]}}
    (comm,) = compile_rules(table, BUILD)["bcast"]
    assert [row.choice for row in comm.rows] == [Choice(2, 3, 1024), Choice(1), Choice(7, 0, 8)]


def test_sizes_are_written_in_the_unit_that_open_mpi_compares() -> None:
    table = {name: {FOUR: [Row(1024, 1)]} for name in ("gather", "scatter", "alltoall", "allgather", "bcast")}
    lows = {name: comms[0].rows[0].low for name, comms in compile_rules(table, BUILD).items()}
    assert lows == {"gather": 4096, "scatter": 4096, "alltoall": 4096, "allgather": 4096, "bcast": 1024}


def test_a_collective_where_nothing_was_chosen_is_left_out() -> None:
    assert compile_rules({"bcast": {FOUR: [Row(1024, 0, 4, 0)]}, "reduce": {FOUR: []}}, BUILD) == {}


def test_the_nodes_of_a_job_choose_its_rules() -> None:
    table = {"bcast": {Shape(4, 2): [Row(8, 1)], Shape(4, 4): [Row(8, 6)], Shape(8): [Row(8, 3)]}}
    rules = compile_rules(table, BUILD)
    assert [decide(rules, "bcast", nodes, 4, 8).algorithm for nodes in (1, 2, 3, 4)] == [0, 1, 0, 6]
    chosen = compile_rules(for_nodes(table, 4), BUILD)
    assert [decide(chosen, "bcast", 2, ranks, 8).algorithm for ranks in (4, 8)] == [6, 3]
    with pytest.raises(TunerError, match="choose a number of nodes"):
        write(rules, Form.CLASSIC)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({"bcast": {FOUR: [Row(8, 10)]}}, "no algorithm 10"),
        ({"allreduce": {FOUR: [Row(8, 7)]}}, "no algorithm 7"),
        ({"bcats": {FOUR: [Row(8, 1)]}}, "no rules for it"),
        ({"bcast": {Shape(1): [Row(8, 1)]}}, "2 tasks or more"),
        ({"bcast": {FOUR: [Row(8, 1), Row(8, 2)]}}, "listed twice"),
        ({"barrier": {FOUR: [Row(8, 1), Row(16, 2)]}}, "listed twice"),
        ({"bcast": {FOUR: [Row(8, 1, -1)]}}, "negative"),
        ({"bcast": {FOUR: [Row(8, 1)], Shape(4, 2): [Row(8, 2)]}}, "4 ranks occur both with numbers of nodes"),
    ],
)
def test_rules_that_would_harm_a_job_are_not_compiled(table: Table, why: str) -> None:
    with pytest.raises(TunerError, match=why):
        compile_rules(table, BUILD)


def test_ids_are_those_of_the_build_and_a_new_algorithm_is_taken_to_heed_all() -> None:
    newer = OpenMPIBuild("4.1.99", {"bcast": {**BUILD.algorithms["bcast"], 10: "new"}}, {})
    (comm,) = compile_rules({"bcast": {FOUR: [Row(8, 10, 2, 64)]}}, newer)["bcast"]
    assert comm.rows[0].choice == Choice(10, 2, 64)


COLLECTIVES = ("allgather", "allreduce", "alltoall", "bcast", "gather", "reduce", "reduce_scatter", "scatter")


def any_size(_: str) -> st.SearchStrategy[int]:
    return st.integers(0, 1 << 21)


def measured_size(collective: str) -> st.SearchStrategy[int]:
    """Return sizes in bytes that a campaign may measure: not 0, and multiples of 4 (a float) if the collective sums."""
    step = 4 if CATALOGUE[collective].sums else 1
    return st.integers(1, (1 << 21) // step).map(lambda count: count * step)


@st.composite
def tables(
    draw: st.DrawFn,
    nodes: st.SearchStrategy[int] | None = None,
    size: Callable[[str], st.SearchStrategy[int]] = any_size,
) -> Table:
    """Draw a table for Debian 12's Open MPI; `nodes` draws numbers of nodes, and `size` draws sizes of a collective."""
    table: dict[str, dict[Shape, list[Row]]] = {}
    for name in draw(st.lists(st.sampled_from(COLLECTIVES), min_size=1, unique=True)):
        table[name] = {}
        for ranks in draw(st.sets(st.integers(2, 70), min_size=1, max_size=3)):
            sizes = draw(st.sets(size(name), min_size=1, max_size=5))
            shape = Shape(ranks, 0 if nodes is None else draw(nodes))
            table[name][shape] = [
                Row(
                    size,
                    draw(st.sampled_from(sorted(BUILD.algorithms[name]))),
                    draw(st.integers(0, 64)),
                    draw(st.sampled_from((0, 8, 10, 1 << 20))),
                )
                for size in sizes
            ]
    return table


def wanted(table: Table, name: str, nodes: int, ranks: int, size: int) -> int:
    """Return the algorithm at the table's largest size up to `size`, or the built-in rules' number if there is none."""
    shapes = table.get(name, {})
    rows = shapes.get(Shape(ranks, nodes), shapes.get(Shape(ranks), ()))
    below = [row for row in rows if row.size <= size]
    return max(below, key=lambda row: row.size).algorithm if below else BUILT_IN.algorithm


def check(table: Table, form: Form, nodes: int, name: str, ranks: int, size: int) -> None:
    """Check that all releases that read a form decide calls as the table does, at sizes near those in the table."""
    data = write(compile_rules(table, BUILD), form).encode()
    sizes = [size] + [row.size + step for rows in table.get(name, {}).values() for row in rows for step in (-1, 0, 1)]
    for family in form.families:
        rules = read(data, family).rules
        for number in {ranks, *(shape.ranks + step for shape in table.get(name, {}) for step in (-1, 0, 1))}:
            for stated in sizes:
                if stated >= 0:
                    found = decide(rules, name, nodes, number, compared_bytes(name, stated, number))
                    assert found.algorithm == wanted(table, name, nodes, number, stated)


@pytest.mark.parametrize("form", [form for form in Form if form is not Form.NODES])
@settings(max_examples=examples(50))
@given(table=tables(), name=st.sampled_from(COLLECTIVES), ranks=st.integers(1, 80), size=st.integers(0, 1 << 22))
def test_a_file_decides_every_call_as_its_table_says(
    form: Form, table: Table, name: str, ranks: int, size: int
) -> None:
    check(table, form, 1, name, ranks, size)


@settings(max_examples=examples(50))
@given(tables(st.integers(1, 5)), st.sampled_from(COLLECTIVES), st.integers(1, 6), st.integers(1, 80))
def test_a_file_with_a_level_of_nodes_decides_every_call_as_its_table_says(
    table: Table, name: str, nodes: int, ranks: int
) -> None:
    check(table, Form.NODES, nodes, name, ranks, 4096)
