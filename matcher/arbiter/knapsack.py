# SPDX-License-Identifier: Apache-2.0
"""Exact solution of the multiple-choice knapsack problem by dynamic programming."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LARGEST = 2**61
"""Limit of the sum of values, whose distance to `NONE` must fit into 64 bits."""
NONE = -(2**62)
"""Value of a weight that no choice has; it stays negative when any sum of values is added."""


class Item(NamedTuple):
    """An item of a class: its weight, and its value. Both are whole numbers, so that sums are exact."""

    weight: int
    value: int


def choose(classes: Sequence[Sequence[Item]], capacity: int) -> Sequence[int] | None:
    """Return the index of the item to take from each class, so that the sum of values is the largest possible.

    The sum of weights is at most `capacity`. Among the best choices, one with the smallest sum of weights is returned.
    None is returned if no choice fits. Weights are 0 or more, values lie between 0 and `LARGEST` in sum.

    best[i][w] is the largest value of items from the first i classes whose weights sum to exactly w (Bez 2020, equation
    5.1). This takes capacity times the number of items steps, which numpy makes for all w at once. Choices are not
    stored: the walk back finds them by comparing sums, which works because they are exact. 1,000 classes of 5 items
    and a capacity of 512 take some 10 ms.
    """
    if sum(max((item.value for item in items), default=0) for items in classes) > LARGEST:
        raise ValueError("the values of the items are too large")
    # Capacity beyond the largest items of all classes changes nothing.
    width = min(capacity, sum(max((item.weight for item in items), default=0) for items in classes)) + 1
    if width < 1:
        return None
    best = np.empty((len(classes) + 1, width), dtype=np.int64)
    best[0] = NONE
    best[0, 0] = 0
    sums = np.empty(width, dtype=np.int64)
    for before, after, items in zip(best, best[1:], classes, strict=False):
        after.fill(NONE)
        for weight, value in items:
            if weight < width:
                moved = np.add(before[: width - weight], value, out=sums[: width - weight])
                np.maximum(after[weight:], moved, out=after[weight:])
    return _walk_back(best, classes)


def _walk_back(best: NDArray[np.int64], classes: Sequence[Sequence[Item]]) -> Sequence[int] | None:
    weight = int(best[-1].argmax())  # the first maximum, whose weight is the smallest
    if best[-1, weight] < 0:
        return None
    chosen = []
    for index in range(len(classes) - 1, -1, -1):
        value = int(best[index + 1, weight])
        _, taken = min(
            (item.weight, position)
            for position, item in enumerate(classes[index])
            if item.weight <= weight and int(best[index, weight - item.weight]) + item.value == value
        )
        weight -= classes[index][taken].weight
        chosen.append(taken)
    return chosen[::-1]
