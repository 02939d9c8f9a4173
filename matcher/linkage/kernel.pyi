# SPDX-License-Identifier: Apache-2.0
"""Interface of the compiled loops over the distinct values of a column and over the rows of a snapshot.

Numbers are float64, codes and ids int32, rows and places int64; all arrays are contiguous. An invalid code or id adds
nothing to a result, unless the function's description says otherwise. Row n of a ragged array is
`ids[starts[n]:starts[n + 1]]`.
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
    """Return the nonempty parts of `text` between `separators`, in order. Remove decimal digits unless `digits`."""

def numbers(comparer: int, query: float, values: Reals, first: float, second: float) -> Reals:
    """Return the similarity of `query` to each of `values`, as `comparers` defines it; 0 for unknown values (NaN).

    `first` and `second` are the comparer's arguments: the maximum, the period, or the start and the end.
    """

def same_letters(letters: npt.NDArray[np.uint8], query: bytes) -> Reals:
    """Return, for each text in `letters`, the share of positions at which the text has the same letter as `query`.

    `letters` contains the texts one after the other; all texts are as long as `query`.
    """

def along(similarities: Reals, xs: Reals, ys: Reals) -> Reals:
    """Return the values of the piecewise linear function through (xs, ys) at `similarities`; xs run from 0 to 1."""

def height(similarity: float, xs: Reals, ys: Reals) -> float:
    """Return the value of the piecewise linear function at one similarity, bitwise equal to that of `along`."""

def holders(ids: Codes, starts: Indices, count: int) -> tuple[Codes, Indices]:
    """Return the inverse of a ragged array as `rows` and `begins`: id n occurs in `rows[begins[n]:begins[n + 1]]`.

    `count` is the number of ids. Raises IndexError if an id is invalid.
    """

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
    """Return the similarity of a job's options to each set of items; `sets` and `begins` are the result of `holders`.

    `overlaps`: the overlap, from 0 to 1, of each item that overlaps with one of the job's items. `shared`: 1 for each
    of the job's keys that occurs in at least one set. `keys`: number of the job's keys.
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
    """Return upper and lower bounds of the bags' similarities to a job's bag; one array for both if `alike` is empty.

    `counts`: weight of each of `ids`. `squares`: squared length of each bag. `products`, `changes` and `alike` map the
    ids of some tokens to numbers. A bag's token with weight w adds w times `products` to the bag's scalar product with
    the job's bag, and the square of w times `changes` to the bag's squared length. In the upper bound only, w times
    `alike` is also added to the scalar product, because the token is similar to a token of the job.
    """

def places_of(heads: Indices, tails: Indices, head: int, tail: int) -> list[int]:
    """Return the indices at which the element of `heads` equals `head` or the element of `tails` equals `tail`."""

def combined(tables: list[Reals]) -> Reals:
    """Return the sums of all combinations of one value from each table; the last table varies fastest."""

def add_up(start: Reals, tables: list[Reals], codes: list[Codes]) -> Reals:
    """Return, for each row, its element of `start` plus each table's value for the row's code."""

def totals_of(offset: float, tables: list[Any], codes: list[Codes], rows: Indices) -> Reals:
    """Return, for each of `rows`, `offset` plus each table's value for the row's code, added in the tables' order.

    A table is an array, a dictionary, or one number for all codes. Raises IndexError if a row is invalid.
    """

def leading(totals: Reals, k: int, bound: float, slack: float) -> Indices:
    """Return the rows whose total is at least min(k-th largest total, `bound`) - `slack`.

    If there are fewer than k rows, return all rows except those with a total of minus infinity.
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
    """Return the indices in `rows` of the best `k` rows, best first, and whether their order is uncertain.

    Rows are ordered by rank, total, creation time and gain, the highest first, then by the lowest id. The order is
    uncertain if the total of one of the best rows differs from the total of another row with the same rank by at most
    `slack`, but not by 0. `ranks` and `totals` have one element for each of `rows`; `created_at`, `gain` and `ids` have
    one for each row of the snapshot.
    """
