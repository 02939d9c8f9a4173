# SPDX-License-Identifier: Apache-2.0
"""Test that the compiled loops check values used as an index: an invalid code or id adds nothing, or is refused."""

from __future__ import annotations

import numpy as np
import pytest

from reprise.matcher.linkage import kernel

WILD = [0, 1, 2, -1, 2**31 - 1, -(2**31)]


def codes(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(numbers, np.int32)


def places(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, np.int64)


def test_a_row_with_a_wrong_code_gets_nothing() -> None:
    totals = kernel.add_up(np.zeros(6), [np.array([1.0, 2.0])], [codes(*WILD)])
    assert totals.tolist() == [1, 2, 0, 0, 0, 0]
    totals = kernel.totals_of(1.0, [np.array([1.0, 2.0]), 0.5], [codes(*WILD), codes()], places(*range(6)))
    assert totals.tolist() == [2.5, 3.5, 1.5, 1.5, 1.5, 1.5]


def test_fewer_codes_than_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="codes for 1 rows, but 2 rows are needed"):
        kernel.add_up(np.zeros(2), [np.ones(1)], [codes(0)])


@pytest.mark.parametrize("row", [-1, 2, 2**62])
def test_an_invalid_row_is_refused(row: int) -> None:
    with pytest.raises(IndexError):
        kernel.totals_of(0.0, [np.ones(1)], [codes(0, 0)], places(row))
    with pytest.raises(IndexError):
        kernel.best(1, places(0), np.zeros(1), places(row), np.zeros(2), np.zeros(2), places(0, 1), 0.0)


def test_an_invalid_id_is_refused_or_ignored() -> None:
    with pytest.raises(IndexError):
        kernel.holders(codes(*WILD), places(0, 6), 2)
    found = kernel.option_similarities(
        codes(*WILD),
        places(0, 6),
        codes(0, 0, 9),
        codes(0, 7, -1),
        places(0, 3, 3, 3),
        1,
        {0: 1.0, 99: 1.0},
        {0: 1.0},
        1,
    )
    assert found.tolist() == [1 / 5]
    most, least = kernel.bag_similarities(
        codes(*WILD), places(-5, 99), np.ones(6), np.ones(1), 2, {0: 0.5, 7: 1.0}, {-3: 1.0}, {1: 0.25}
    )
    assert (most.tolist(), least.tolist()) == ([0.75], [0.5])


def test_an_incomplete_text_is_left_out() -> None:
    assert kernel.same_letters(np.frombuffer(b"abcdab", np.uint8), b"abcx").tolist() == [0.75]
