# SPDX-License-Identifier: Apache-2.0
"""Test the writer of MPICH's selection files with the emulator of MPICH's reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.tuner.errors import TunerError
from reprise.tuner.mpich.mpich_catalogue import CATALOGUE, full_name, serves
from reprise.tuner.mpich.selection_file import Rule, Rules, text_of, with_rules
from reprise.tuner.mpich.selection_reader import Call, StopsProgram, selected
from tests.unit.mpich_values import LIBRARY, TABLE

KNOWN = [name for name in CATALOGUE if f"collective={name}" in TABLE]


def after(rules: Rules, call: Call, ranks: int = 4) -> str:
    """Return the algorithm that a file with these rules chooses, after it was written and read."""
    return selected(json.loads(text_of(with_rules(LIBRARY, rules, ranks))), call)


@st.composite
def rules_of(draw: st.DrawFn) -> tuple[str, int, list[Rule]]:
    name, ranks = draw(st.sampled_from(KNOWN)), draw(st.integers(2, 40))
    algorithms = ["", *(one for one in CATALOGUE[name].algorithms if serves(name, one, ranks))]
    sizes = sorted(draw(st.sets(st.integers(0, 2**24), min_size=1, max_size=6))) if CATALOGUE[name].key else [0]
    return name, ranks, [Rule(size, draw(st.sampled_from(algorithms))) for size in sizes]


@given(rules_of(), st.integers(0, 2**22), st.booleans(), st.booleans())
def test_a_call_gets_the_rule_of_its_size_and_other_communicators_the_built_in_choice(
    drawn: tuple[str, int, list[Rule]], size: int, built_in: bool, in_place: bool
) -> None:
    name, ranks, given_rules = drawn
    for of in (ranks - 1, ranks, ranks + 1, 4 * ranks):
        call = Call(name, size, of, count=size // 4, built_in=built_in, in_place=in_place)
        compared = CATALOGUE[name].compared_bytes(size, of)
        rule = next((one for one in reversed(given_rules) if one.size <= compared), Rule(0, ""))
        conditions = CATALOGUE[name].algorithms.get(rule.algorithm, ())
        fits = of == ranks and bool(rule.algorithm) and not (in_place and CATALOGUE[name].not_in_place)
        fits = fits and not ("built-in" in conditions and not built_in)
        fits = fits and not ("long" in conditions and call.count < 1 << (of.bit_length() - 1))
        expected = full_name(name, rule.algorithm) if fits else selected(TABLE, call)
        assert after({name: given_rules}, call, ranks) == expected


def test_collectives_without_rules_keep_the_built_in_choice() -> None:
    table = with_rules(LIBRARY, {"bcast": [Rule(0, "nb")]}, 4)
    assert {key: value for key, value in table.items() if key != "collective=bcast"} == {
        key: value for key, value in TABLE.items() if key != "collective=bcast"
    }
    assert table["collective=bcast"]["comm_type=inter"] == TABLE["collective=bcast"]["comm_type=inter"]


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({"bcast": [Rule(0, "binomail")]}, "no algorithm 'binomail' of bcast for 4 ranks: use one of binomial"),
        ({"bcast": [Rule(0, "MPIR_Barrier_intra_dissemination")]}, "has no algorithm"),
        ({"gather": [Rule(0, "binomial")]}, "leave this collective out"),
        ({"reduce": [Rule(0, "binomial")]}, "leave this collective out"),
        ({"bcast": [Rule(2**31, "nb")]}, "cannot compare"),
        ({"bcast": [Rule(8, "nb"), Rule(8, "binomial")]}, "not in order"),
        ({"barrier": [Rule(0, "nb"), Rule(8, "dissemination")]}, "compares no size"),
    ],
)
def test_rules_that_would_end_a_program_are_refused(rules: Rules, why: str) -> None:
    with pytest.raises(TunerError, match=why):
        with_rules(LIBRARY, rules, 4)


def test_an_algorithm_for_powers_of_two_is_refused_for_other_communicators() -> None:
    rules = {"bcast": [Rule(0, "scatter_recursive_doubling_allgather")]}
    assert with_rules(LIBRARY, rules, 8)
    with pytest.raises(TunerError, match="for 6 ranks"):
        with_rules(LIBRARY, rules, 6)


@given(st.integers(0, 3 * 4096))
def test_a_file_never_ends_with_a_page(length: int) -> None:
    text = text_of({"a" * length: {}})
    assert len(text) % 4096
    assert json.loads(text) == {"a" * length: {}}


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({}, "no algorithm"),
        ({"collective=bcast": {"comm_type=inter": {"algorithm=x": {}}}}, "no algorithm"),
        ({"collective=bcast": {"comm_size<4": {"algorithm=x": {}}}}, "no algorithm"),
        # MPICH follows the first key that matches, even if no key below it matches.
        ({"collective=bcast": {"any": {"comm_size<4": {"algorithm=x": {}}}, "comm_size=any": {}}}, "no algorithm"),
        ({"collective=bcast": {"nodes<4": {"algorithm=x": {}}}}, "unknown key 'nodes<4'"),
        ({"collective=bcast": {"comm_size>4": {"algorithm=x": {}}}}, "unknown key"),
    ],
)
def test_the_emulator_says_when_mpich_would_end_the_program(table: dict[str, object], why: str) -> None:
    with pytest.raises(StopsProgram, match=why):
        selected(table, Call("bcast", 8, 4))


def test_blanks_in_keys_are_ignored_and_bounds_are_read_as_by_atoi() -> None:
    table: Any = {
        "collective=bcast": {"avg_msg_size <= 8x": {"algorithm = a": {}}, "avg_msg_size=any": {"algorithm=b": {}}}
    }
    assert [selected(table, Call("bcast", size, 4)) for size in (8, 9)] == ["a", "b"]
