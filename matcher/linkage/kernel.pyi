# SPDX-License-Identifier: Apache-2.0
"""Compiled loops over distinct values and over rows.

All numbers are float64, codes and ids int32, rows and places int64; arrays are contiguous. An invalid code or id adds
nothing. Row n of a ragged array is `ids[starts[n]:starts[n + 1]]`.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from reprise.matcher.linkage.arrays import Codes, Indices, Reals

RATIO: int
ABSOLUTE: int
CIRCULAR: int
SAME_SIDE: int
EQUAL: int

def tokens(text: str, separators: str, digits: bool) -> tuple[str, ...]:
    """Return the nonempty parts of `text` between separators, in order; without decimal digits unless `digits`."""

def numbers(comparer: int, query: float, values: Reals, first: float, second: float) -> Reals:
    """Return the similarities of a number to many, as in `comparers`; 0 to unknown ones (NaN).

    `first` and `second` are the comparer's arguments: the maximum, the period, or the start and the end.
    """

def same_letters(letters: npt.NDArray[np.uint8], query: bytes) -> Reals:
    """Return, for each text in `letters`, the share of positions at which it has the same letter as `query`.

    The texts follow one another, and are all as long as `query`.
    """

def along(similarities: Reals, xs: Reals, ys: Reals) -> Reals:
    """Return the heights at these similarities of straight lines through the points (xs, ys), with xs from 0 to 1."""

def height(similarity: float, xs: Reals, ys: Reals) -> float:
    """Return the height at one similarity, equal to the result of `along` to the last bit."""

def holders(ids: Codes, starts: Indices, count: int) -> tuple[Codes, Indices]:
    """Return the inverse: `rows` and `begins`; the rows that hold id n are `rows[begins[n]:begins[n + 1]]`."""

def option_similarities(
    ids: Codes,
    starts: Indices,
    key_of_item: Codes,
    sets: Codes,
    begins: Indices,
    key_count: int,
    overlaps: dict[int, float],
    shared: dict[int, float],
    keys: int,
) -> Reals:
    """Return the similarities of a job's options to sets of items. `sets` and `begins` are the result of `holders`.

    `overlaps`: items that overlap with one of the job's items, and by how much. `shared`: 1 for each of the job's keys
    that occurs in any set. `keys`: number of the job's keys.
    """

def bag_similarities(
    ids: Codes,
    starts: Indices,
    counts: Reals,
    squares: Reals,
    token_count: int,
    products: dict[int, float],
    changes: dict[int, float],
    alike: dict[int, float],
) -> tuple[Reals, Reals]:
    """Return upper and lower bounds of bags' similarities to a job's bag; the same array twice if all are exact.

    `counts`: weight of each of `ids`. `squares`: squared length of each bag. By token, for a weight of 1: `products` is
    added to the product, `changes` (times the square of the weight) to the squared length, and `alike` at most to the
    product, if the token is similar to another one.
    """

def places_of(heads: Indices, tails: Indices, head: int, tail: int) -> list[int]:
    """Return the places at which `heads` has `head` or `tails` has `tail`."""

def combined(tables: list[Reals]) -> Reals:
    """Return the sums of all combinations of one value from each table; the last table varies fastest."""

def add_up(start: Reals, tables: list[Reals], codes: list[Codes]) -> Reals:
    """Return for each row the sum of `start` and of each table's value for the row's code."""

def totals_of(offset: float, tables: list[Any], codes: list[Codes], rows: Indices) -> Reals:
    """Return for each of `rows` the sum of `offset` and of each table's value for the row's code, in this order.

    A table is an array, a dictionary, or one number for all codes.
    """

def leading(totals: Reals, k: int, bound: float, slack: float) -> Indices:
    """Return the rows that have at least the k-th largest total, or `bound` if that is less, minus `slack`.

    If there are fewer than k rows, return all except those of minus infinity.
    """

def best(
    k: int,
    ranks: Indices,
    totals: Reals,
    rows: Indices,
    created_at: Reals,
    gain: Reals,
    ids: Indices,
    slack: float,
) -> tuple[Indices, bool]:
    """Return the places in `rows` of the best `k`, best first, and whether their order is in doubt.

    They are ordered by rank, total, time and gain, the highest first, then by the lowest id. The order is in doubt if
    the total of one of them differs from another of its rank by at most `slack`, but not by 0. `ranks` and `totals`
    belong to `rows`; `created_at`, `gain` and `ids` belong to all rows.
    """
