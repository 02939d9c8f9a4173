# SPDX-License-Identifier: Apache-2.0
"""Test the file that makes han pass to tuned exactly the calls that have a rule."""

from __future__ import annotations

from hypothesis import given, settings

from reprise.tuner.openmpi.algorithms import known_algorithms
from reprise.tuner.openmpi.catalogue import NAMES, compared_bytes
from reprise.tuner.openmpi.rules import han_file
from reprise.tuner.openmpi.rules.han_delegation import LEVEL, delegate
from reprise.tuner.openmpi.rules.han_file import HanEntry, HanRow
from reprise.tuner.openmpi.rules.rules_model import SIZE_MAX, locate
from reprise.tuner.openmpi.rules_compiler import Row, Shape, Table, compile_rules
from tests.examples import examples
from tests.unit.collectives_values import BUILD
from tests.unit.tuner.openmpi.test_rules_compiler import measured_size, tables

HAN = known_algorithms("han", "6.0")
KEEPS = [HanRow(0, "han")]


def test_only_the_sizes_and_the_communicator_with_a_rule_are_passed() -> None:
    rules = compile_rules({"allgather": {Shape(4): [Row(8, 1), Row(64, 0), Row(1024, 2)]}}, BUILD)
    given_sizes = [HanRow(0, "han"), HanRow(8, "tuned"), HanRow(64, "han"), HanRow(1024, "tuned")]
    assert delegate(rules, HAN) == {
        ("allgather", LEVEL): [HanEntry(1, KEEPS), HanEntry(4, given_sizes), HanEntry(5, KEEPS)]
    }


def test_neighboring_rules_are_one_range_and_a_rule_for_all_sizes_starts_at_0() -> None:
    rules = compile_rules({"bcast": {Shape(2): [Row(0, 1), Row(64, 6)]}, "barrier": {Shape(3): [Row(0, 3)]}}, BUILD)
    found = delegate(rules, HAN)
    assert found["bcast", LEVEL][1] == HanEntry(2, [HanRow(0, "tuned")])
    assert found["barrier", LEVEL][1] == HanEntry(3, [HanRow(0, "tuned")])


def test_a_collective_that_han_does_not_implement_is_left_out() -> None:
    rules = compile_rules({"allgatherv": {Shape(4): [Row(0, 3)]}, "bcast": {Shape(4): [Row(8, 0)]}}, BUILD)
    assert delegate(rules, HAN) == {}


@given(tables(size=measured_size))
@settings(max_examples=examples(50))
def test_han_passes_a_call_if_and_only_if_a_rule_decides_it(table: Table) -> None:
    rules = compile_rules(table, BUILD)
    passed = delegate(rules, NAMES)
    if passed:
        text = han_file.write(passed, True, HAN)
        assert han_file.read(text.encode(), True, HAN) == passed
    for name, comms in rules.items():
        edges = {edge for comm in comms for row in comm.rows for edge in (row.low, row.high + 1) if edge <= SIZE_MAX}
        for ranks in {one for comm in comms for one in (1, comm.ranks[0] - 1, comm.ranks[0], comm.ranks[1] + 1) if one}:
            unit = max(compared_bytes(name, 1, ranks), 1)
            for size in {max(edge // unit + step, 0) for edge in edges for step in (-1, 0, 1)}:
                row = han_file.decide(passed, name, LEVEL, ranks, size)
                decided = locate(rules, name, 1, ranks, compared_bytes(name, size, ranks)).row is not None
                assert (row is not None and row.component == "tuned") == decided
