# SPDX-License-Identifier: Apache-2.0
"""Arrays that grow while others read them: what was handed out stays as it was, only more comes behind it."""

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
    """A one-dimensional array that only grows."""

    def __init__(self, dtype: type[T]) -> None:
        self._data: npt.NDArray[T] = np.empty(16, dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def extend(self, values: Sequence[Any] | npt.NDArray[Any]) -> None:
        end = self._size + len(values)
        if end > len(self._data):
            larger = np.empty(max(end, len(self._data) + len(self._data) // 2), self._data.dtype)
            larger[: self._size] = self._data[: self._size]
            self._data = larger
        self._data[self._size : end] = values
        self._size = end

    def view(self) -> npt.NDArray[T]:
        """What is there now."""
        return self._data[: self._size]


class Ragged:
    """Rows of ids of different lengths, one after the other."""

    def __init__(self, ids: Codes, starts: Indices) -> None:
        """`starts` has one more element than there are rows: the end of the last."""
        self.ids = ids
        self.starts = starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    def row(self, number: int) -> Codes:
        return self.ids[self.starts[number] : self.starts[number + 1]]

    def of(self, rows: Codes) -> Codes:
        """The ids of several rows, one after the other."""
        begins = self.starts[rows]
        lengths = self.starts[1:][rows] - begins
        ends = np.cumsum(lengths)
        places: Indices = np.arange(lengths.sum()) + np.repeat(begins - ends + lengths, lengths)
        return self.ids[places]

    def lengths(self) -> Indices:
        return np.diff(self.starts)

    def in_order(self) -> Ragged:
        """The same with the ids of each row in order."""
        keys: Indices = self.owners() << 32 | self.ids
        keys.sort()
        return Ragged((keys & 0xFFFFFFFF).astype(np.int32), self.starts)

    def counted(self) -> tuple[Ragged, Indices]:
        """The same with each id of a row once, where ids are in order; and how often each is there."""
        first = np.ones(len(self.ids), np.bool_)
        first[1:] = self.ids[1:] != self.ids[:-1]
        first[self.starts[:-1][self.lengths() > 0]] = True
        places = np.flatnonzero(first)
        starts = np.searchsorted(places, self.starts)
        return Ragged(self.ids[places], starts), np.diff(places, append=len(self.ids))

    def owners(self) -> Indices:
        """The row of each id."""
        return np.repeat(np.arange(len(self)), self.lengths())

    def sums(self, values: Reals) -> Reals:
        """Of each row, given a value for each of all rows' ids."""
        summed: Reals = np.bincount(self.owners(), values, minlength=len(self)).astype(np.float64)
        return summed
