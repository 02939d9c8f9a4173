# SPDX-License-Identifier: Apache-2.0
"""Test HAN's rules file, which selects a collective's component on each level: reading, writing, and lookup."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.tuner.openmpi.algorithms import known_algorithms
from reprise.tuner.openmpi.rules.classic_form import DroppedError
from reprise.tuner.openmpi.rules.han_file import COMPONENTS, LEVELS, HanEntry, HanRow, HanRules, decide, read, write

HAN = known_algorithms("han", "5.0")
TEXT = b"1 bcast 2 0 2 1 2 0 tuned 1024 sm 4 1 0 libnbc 2 1 1 1 0 han"


def test_the_last_entry_that_is_not_larger_decides() -> None:
    rules = read(TEXT, False, {})
    found = [decide(rules, "bcast", "intra_node", ranks, size) for ranks, size in [(1, 0), (3, 1024), (4, 9), (99, 9)]]
    assert [row.component for row in found if row] == ["tuned", "sm", "libnbc", "libnbc"]
    assert decide(rules, "bcast", "inter_node", 4, 8) is None
    assert decide(rules, "reduce", "intra_node", 4, 8) is None


def test_names_and_algorithms_are_known_from_5_0_on() -> None:
    data = b"1 7 1 global_communicator 1 1 1 0 han @simple"
    assert read(data, True, HAN) == {("bcast", LEVELS[2]): [HanEntry(1, [HanRow(0, "han", 2)])]}
    # 4.1 skips the unknown name, and reads the next number as the level
    assert read(data, False, {}) == {("bcast", LEVELS[1]): [HanEntry(1, [])]}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "the number of collectives should be"),
        (b"0", "the number of collectives is 0, but must be at least 1"),
        (b"1 bcats 1 0 1 1 1 0 tuned", "'bcats' is not a collective"),
        (b"1 bcast 1 3 1 1 1 0 tuned", "'3' is not a level"),
        (b"1 bcast 1 0 1 2 1 0 tuned", "the first communicator size of a level is 2, not 1"),
        (b"1 bcast 1 0 1 1 1 8 tuned", "the first message size of an entry is 8, not 0"),
        (b"1 bcast 1 0 1 1 1 0 fast", "'fast' is not a component"),
        (b"1 bcast 1 2 1 1 1 0 han @x", "'x' is not an algorithm of han's bcast: use default, intra, simple"),
        (b"1 bcast 1 0 1 1 1 0", "a component should be"),
    ],
)
def test_a_file_that_han_does_not_understand_is_dropped(data: bytes, why: str) -> None:
    with pytest.raises(DroppedError, match=why):
        read(data, True, HAN)


@st.composite
def han_rules(draw: st.DrawFn, names: bool) -> HanRules:
    found: dict[tuple[str, str], list[HanEntry]] = {}
    for name in draw(st.lists(st.sampled_from(sorted(HAN)), max_size=3, unique=True)):
        for level in draw(st.lists(st.sampled_from(LEVELS), min_size=1, unique=True)):
            found[name, level] = []
            for ranks in [1, *sorted(draw(st.sets(st.integers(2, 99), max_size=2)))]:
                rows = []
                for size in [0, *sorted(draw(st.sets(st.integers(1, 2**40), max_size=3)))]:
                    component = draw(st.sampled_from(COMPONENTS))
                    algorithm = draw(st.sampled_from(sorted(HAN[name]))) if names and component == "han" else 0
                    rows.append(HanRow(size, component, algorithm))
                found[name, level].append(HanEntry(ranks, rows))
    return found


@pytest.mark.parametrize("names", [True, False])
@settings(deadline=None)
@given(data=st.data())
def test_written_rules_read_back(names: bool, data: st.DataObject) -> None:
    rules = data.draw(han_rules(names))
    if rules:
        text = write(rules, names, HAN, ["made for\na test"])
        assert read(text.encode(), names, HAN) == rules
        assert text.startswith("# made for a test\n")


@settings(deadline=None)
@given(st.binary(max_size=60) | st.lists(st.sampled_from([*TEXT.split(), b"@", b"[", b"]", b"#"])).map(b" ".join))
def test_no_bytes_make_the_reader_fail_otherwise_than_by_dropping(data: bytes) -> None:
    for names in (True, False):
        with contextlib.suppress(DroppedError):
            read(data, names, HAN)
