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
    """Rows of ids of different lengths, none empty, one after the other."""

    def __init__(self, ids: Codes, starts: Indices) -> None:
        """`starts` has one more element than there are rows: the end of the last."""
        self.ids = ids
        self.starts = starts

    def entries(self, rows: Codes | None) -> tuple[Indices | None, Indices]:
        """Where the entries of `rows` (None: all) lie, None meaning all in order, and where each row begins in that."""
        if rows is None:
            return None, self.starts[:-1]
        begins = self.starts[rows]
        lengths = self.starts[1:][rows] - begins
        ends = np.cumsum(lengths)
        offsets = ends - lengths
        return np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - offsets, lengths), offsets

    def row(self, number: int) -> Codes:
        return self.ids[self.starts[number] : self.starts[number + 1]]
