# SPDX-License-Identifier: Apache-2.0
"""Test that the knapsack's choice is the best, and the lightest of the best, by trying all choices."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.matcher.arbiter.knapsack import LARGEST, Item, choose
from tests.examples import examples
from tests.unit.matcher.arbiter.arbiter_values import best_by_trial

ITEMS = st.builds(Item, st.integers(0, 5), st.integers(0, 20))


@given(st.lists(st.lists(ITEMS, min_size=1, max_size=4), max_size=5), st.integers(-1, 15))
@settings(max_examples=examples(100))
def test_a_choice_is_the_best_and_lightest_of_all(classes: list[list[Item]], capacity: int) -> None:
    chosen = choose(classes, capacity)
    expected = best_by_trial(classes, capacity)
    if expected is None:
        assert chosen is None
    else:
        assert chosen is not None
        items = [one[index] for one, index in zip(classes, chosen, strict=True)]
        assert (sum(item.value for item in items), sum(item.weight for item in items)) == expected


def test_of_two_best_choices_the_one_with_fewer_forwarders_is_taken() -> None:
    assert choose([[Item(4, 100), Item(2, 100)]], 8) == [1]
    assert choose([[Item(0, 0), Item(4, 50)], [Item(0, 0), Item(2, 50)]], 4) == [0, 1]


def test_the_best_choice_is_found_among_sums_that_floating_point_numbers_cannot_separate() -> None:
    huge = LARGEST // 4
    assert choose([[Item(0, huge), Item(1, huge + 1)], [Item(0, 0), Item(1, 2)]], 1) == [0, 1]


def test_a_class_without_items_has_no_choice() -> None:
    assert choose([[Item(0, 1)], []], 4) is None


def test_no_classes_have_an_empty_choice() -> None:
    assert choose([], 4) == []


def test_values_whose_sum_could_overflow_are_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        choose([[Item(0, LARGEST)], [Item(0, 1)]], 1)
