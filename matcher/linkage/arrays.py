# SPDX-License-Identifier: Apache-2.0
"""Arrays that grow while other threads read views of them, and arrays of rows of different lengths.

The elements of a view never change, because new elements are only appended after the view's end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=np.generic)
Codes = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


class Growing(Generic[T]):
    """A one-dimensional array to which elements can only be appended."""

    def __init__(self, dtype: type[T]) -> None:
        self._data: npt.NDArray[T] = np.empty(16, dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def extend(self, values: Sequence[Any] | npt.NDArray[Any]) -> None:
        """Append values at the end."""
        end = self._size + len(values)
        if end > len(self._data):
            larger = np.empty(max(end, len(self._data) + len(self._data) // 2), self._data.dtype)
            larger[: self._size] = self._data[: self._size]
            self._data = larger
        self._data[self._size : end] = values
        self._size = end

    def view(self) -> npt.NDArray[T]:
        """Return a view of the current elements; elements that are appended later are not part of the view."""
        return self._data[: self._size]


class Ragged:
    """Rows of ids, which may differ in length, stored one after the other in a single array."""

    def __init__(self, ids: Codes, starts: Indices) -> None:
        """Initialize with the ids of all rows; `starts` has the index in `ids` at which each row starts.

        The last element of `starts`, after those of the rows, is the number of ids.
        """
        self.ids = ids
        self.starts = starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    def row(self, number: int) -> Codes:
        """Return the ids of one row."""
        return self.ids[self.starts[number] : self.starts[number + 1]]

    def of(self, rows: Codes) -> Codes:
        """Return the ids of `rows` in one array, one row after the other."""
        begins = self.starts[rows]
        lengths = self.starts[1:][rows] - begins
        ends = np.cumsum(lengths)
        places: Indices = np.arange(lengths.sum()) + np.repeat(begins - ends + lengths, lengths)
        return self.ids[places]

    def lengths(self) -> Indices:
        """Return the number of ids in each row."""
        return np.diff(self.starts)

    def in_order(self) -> Ragged:
        """Return the same rows with the ids in each row sorted."""
        keys: Indices = self.owners() << 32 | self.ids
        keys.sort()
        return Ragged((keys & 0xFFFFFFFF).astype(np.int32), self.starts)

    def counted(self) -> tuple[Ragged, Indices]:
        """Return the rows without repeated ids, and how often each id occurs in its row.

        The ids of each row must be sorted.
        """
        first = np.ones(len(self.ids), np.bool_)
        first[1:] = self.ids[1:] != self.ids[:-1]
        first[self.starts[:-1][self.lengths() > 0]] = True
        places = np.flatnonzero(first)
        starts = np.searchsorted(places, self.starts)
        return Ragged(self.ids[places], starts), np.diff(places, append=len(self.ids))

    def owners(self) -> Indices:
        """Return, for each element of `ids`, the index of its row."""
        return np.repeat(np.arange(len(self)), self.lengths())

    def sums(self, values: Reals) -> Reals:
        """Return the sum of the values in each row; `values` has one value for each element of `ids`."""
        summed: Reals = np.bincount(self.owners(), values, minlength=len(self)).astype(np.float64)
        return summed
