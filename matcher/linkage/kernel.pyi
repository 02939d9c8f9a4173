# SPDX-License-Identifier: Apache-2.0
"""The loops over distinct values and over rows, compiled.

All numbers are float64, codes and ids int32, rows and places int64; arrays are contiguous. A code or an id that is none
adds nothing. Column n of what is ragged are `ids[starts[n]:starts[n + 1]]`.
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
    """The parts of `text` between separators, empty ones left out, in order; without decimal digits unless `digits`."""

def numbers(comparer: int, query: float, values: Reals, first: float, second: float) -> Reals:
    """The similarities of a number to many, as in `comparers`; 0 to those that are unknown (NaN).

    `first` and `second` are the comparer's: the maximum, the period, or the start and the end.
    """

def same_letters(letters: npt.NDArray[np.uint8], query: bytes) -> Reals:
    """The share of places at which `query` has the same letter as each of the texts that stand in `letters`, one after
    the other, all as long as `query`."""

def along(similarities: Reals, xs: Reals, ys: Reals) -> Reals:
    """The heights, at these similarities, of straight lines through the points (xs, ys), with xs from 0 to 1."""

def height(similarity: float, xs: Reals, ys: Reals) -> float:
    """The same at one similarity, to the last bit."""

def holders(ids: Codes, starts: Indices, count: int) -> tuple[Codes, Indices]:
    """The other way round: which rows hold each of `count` ids. Those of id n are `rows[begins[n]:begins[n + 1]]`."""

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
    """Of a job's options to sets of items, `sets` and `begins` being their `holders`.

    `overlaps`: the items that are alike to one of the job's, and how alike; `shared`: 1 for each of its keys that sets
    have; `keys`: how many it has.
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
    """The most and the least that bags of tokens are alike to a job's; the same array twice where none is in doubt.

    `counts` weighs each of `ids`, and `squares` has each bag's squared length. By token: what one of weight 1 adds to
    the product, to the square (by the square of its weight), and to the product at most if it is alike to another.
    """

def places_of(heads: Indices, tails: Indices, head: int, tail: int) -> list[int]:
    """Where either is."""

def combined(tables: list[Reals]) -> Reals:
    """The sums of all combinations of one value of each table; the last table's changes first."""

def add_up(start: Reals, tables: list[Reals], codes: list[Codes]) -> Reals:
    """Of each row: `start`, and what each table holds for the row's code."""

def totals_of(offset: float, tables: list[Any], codes: list[Codes], rows: Indices) -> Reals:
    """`offset`, and what each table holds for the codes of these rows, added in this order.

    A table is an array, a dictionary, or one number for all codes.
    """

def leading(totals: Reals, k: int, bound: float, slack: float) -> Indices:
    """The rows that have `slack` less, or more, than the k-th largest total or, if that is less, `bound`.

    All, but for those of minus infinity, where there are fewer than k.
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
    """Places in `rows` of the best `k`, best first: by rank, total, time, gain (the highest first), and id.

    Also whether one of them differs from another of its rank by no more than `slack`, and not by 0. `ranks` and
    `totals` are of these rows; `created_at`, `gain` and `ids` are of all.
    """
