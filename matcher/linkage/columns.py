# SPDX-License-Identifier: Apache-2.0
"""A part of the model over all records: its distinct values, and how a new job's value compares with them.

A column grows as records come; `freeze` hands out a view that stays as it is meanwhile. A view compares twice: `bounds`
many distinct values at once, up to TOLERANCE, and `similarity` one of them exactly, as `comparers` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from matcher.linkage import comparers
from matcher.linkage.arrays import Codes, Growing, Ragged, Reals
from matcher.linkage.features import FEATURES, Kind
from matcher.linkage.model import Absolute, Circular, LevenshteinPart, Part, Ratio, SameSide

TOLERANCE = 2e-6
"""Of `bounds`: texts are compared in single precision."""

PLAIN_NUMBERS = 2**52
"""Up to here floats hold what differences of whole numbers need."""

CACHED = 128
"""A number is compared once with all distinct ones where these are no more: clocks have few."""

Bounds = tuple[Reals, Reals]
"""The most and the least that similarities can be; the same array twice where they are known."""


class View(ABC):
    """A column as it was at one time, with `size` distinct values."""

    size: int
    cost_ns: float  # of `bounds`, for each distinct value
    is_certain = True  # both bounds are always the same

    @abstractmethod
    def query(self, value: Any) -> Any:
        """A new job's value, prepared for the other methods."""

    @abstractmethod
    def bounds(self, query: Any, codes: Codes | None) -> Bounds:
        """Of the similarities to the distinct values `codes`, None for all."""

    @abstractmethod
    def similarity(self, query: Any, code: int) -> float:
        """The similarity to one distinct value."""

    @abstractmethod
    def is_unknown(self, query: Any) -> bool: ...

    @abstractmethod
    def unknown(self) -> int:
        """The code of the unknown value, -1 where no record has it."""


class Column(ABC):
    """The distinct values of one part, and how many records hold what of them."""

    @abstractmethod
    def code(self, value: Any) -> int:
        """Of a record's value; given anew if it is new."""

    def count(self, code: int, change: int) -> None:  # noqa: B027 - most columns do not count
        """One record more (1) or less (-1) has this value."""

    @abstractmethod
    def freeze(self, records: int) -> View:
        """The column as it is, in a database of so many records."""


# --- texts and numbers


class ValueColumn(Column):
    """Values that are compared as they are, once prepared."""

    def __init__(self, part: Part, cluster_nodes: int) -> None:
        self._prepare = comparers.clean if isinstance(part, LevenshteinPart) and part.clean else _as_it_is
        self._is_text = isinstance(part, LevenshteinPart)
        self._is_number = FEATURES[part.feature].kind is Kind.NUMBER
        self._compare = _comparison(part, cluster_nodes)
        self._vector = _vector_comparison(part, cluster_nodes)
        self._codes: dict[Hashable, int] = {}
        self._values: list[Any] = []

    def code(self, value: Any) -> int:
        prepared = self._prepare(value)
        code = self._codes.get(prepared)
        if code is None:
            code = self._codes[prepared] = len(self._values)
            self._values.append(prepared)
        return code

    def freeze(self, records: int) -> View:
        if self._is_text:
            return _TextView(self._prepare, self._codes, self._values, self._compare)
        if self._is_number:
            return _NumberView(self._prepare, self._codes, self._values, self._compare, self._vector)
        return _ExactView(self._prepare, self._codes, self._values, self._compare)


def _as_it_is(value: Any) -> Any:
    return value


class _ExactView(View):
    """`codes` and `values` only grow; what is behind `size` is not this view's."""

    cost_ns = 0.0

    def __init__(
        self,
        prepare: Callable[[Any], Any],
        codes: Mapping[Hashable, int],
        values: Sequence[Any],
        compare: Callable[[Any, Any], float],
    ) -> None:
        self.size = len(values)
        self._prepare = prepare
        self._codes = codes
        self._values = values
        self._compare = compare

    def query(self, value: Any) -> Any:
        return self._prepare(value)

    def bounds(self, query: Any, codes: Codes | None) -> Bounds:
        code = self._codes.get(query, self.size)
        if codes is not None:
            found = (codes == code).astype(np.float64)
        else:
            found = np.zeros(self.size)
            if code < self.size:
                found[code] = 1.0
        return found, found

    def similarity(self, query: Any, code: int) -> float:
        return self._compare(query, self._values[code])

    def is_unknown(self, query: Any) -> bool:
        return bool(query == "")

    def unknown(self) -> int:
        code = self._codes.get("", self.size)
        return code if code < self.size else -1


class _TextView(_ExactView):
    cost_ns = 75.0

    def bounds(self, query: str, codes: Codes | None) -> Bounds:
        texts = self._values[: self.size] if codes is None else [self._values[code] for code in codes.tolist()]
        found = cdist([query], texts, scorer=Levenshtein.normalized_similarity, dtype=np.float32, workers=1)[0]
        exact = found.astype(np.float64)
        return exact, exact


class _NumberView(_ExactView):
    """None is the unknown number, which is like nothing, not even itself."""

    def __init__(
        self,
        prepare: Callable[[Any], Any],
        codes: Mapping[Hashable, int],
        values: Sequence[Any],
        compare: Callable[[Any, Any], float],
        vector: Callable[[float, Reals], Reals] | None,
    ) -> None:
        super().__init__(prepare, codes, values, compare)
        known = [value for value in values if value is not None]
        self._cache: dict[Any, Reals] | None = {} if self.size <= CACHED else None
        self._array: Reals | None = None
        if self._cache is None and vector and all(-PLAIN_NUMBERS <= value <= PLAIN_NUMBERS for value in known):
            self._array = np.array([np.nan if value is None else value for value in values], np.float64)
        self._vector = vector

    def bounds(self, query: Any, codes: Codes | None) -> Bounds:
        found = self._all(query)
        if codes is not None:
            found = found[codes]
        return found, found

    def _all(self, query: Any) -> Reals:
        if query is None:
            return np.zeros(self.size)
        if self._array is not None and self._vector and -PLAIN_NUMBERS <= query <= PLAIN_NUMBERS:
            return np.nan_to_num(self._vector(query, self._array), nan=0.0)
        if self._cache is None:
            return self._one_by_one(query)
        found = self._cache.get(query)
        if found is None:
            if len(self._cache) > CACHED:
                self._cache.clear()
            found = self._cache[query] = self._one_by_one(query)
        return found

    def _one_by_one(self, query: Any) -> Reals:
        return np.fromiter((self.similarity(query, code) for code in range(self.size)), np.float64, self.size)

    def similarity(self, query: Any, code: int) -> float:
        value = self._values[code]
        return 0.0 if query is None or value is None else self._compare(query, value)

    def is_unknown(self, query: Any) -> bool:
        return query is None

    def unknown(self) -> int:
        code = self._codes.get(None, self.size)
        return code if code < self.size else -1


def _comparison(part: Part, cluster_nodes: int) -> Callable[[Any, Any], float]:
    """The comparer of two prepared values."""
    match part:
        case LevenshteinPart():
            return comparers.levenshtein
        case Circular():
            return partial(comparers.circular, period=part.period)
        case SameSide():
            return partial(comparers.same_side, start=part.start, end=part.end)
        case Ratio():
            return comparers.ratio
        case Absolute():
            return partial(comparers.absolute, maximum=part.maximum or cluster_nodes)
        case _:
            return comparers.exact


def _vector_comparison(part: Part, cluster_nodes: int) -> Callable[[float, Reals], Reals] | None:
    """The same of one number with many, up to TOLERANCE; None where there is none for so many distinct numbers."""
    match part:
        case Ratio():
            return _ratios
        case Absolute():
            maximum = part.maximum or cluster_nodes
            return lambda query, values: np.maximum(0.0, 1.0 - np.abs(query - values) / maximum)
        case Circular():
            return partial(_circular, part.period)
        case SameSide():
            return None
        case _:
            return lambda query, values: (values == query).astype(np.float64)


def _circular(period: float, query: float, values: Reals) -> Reals:
    apart = np.fmod(np.abs(query - values), period)  # the sine of a large angle is anything
    return 1.0 - np.sin(np.pi * (np.minimum(apart, period - apart) / period))


def _ratios(query: float, values: Reals) -> Reals:
    smaller, larger = np.minimum(query, values), np.maximum(query, values)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values == query, 1.0, np.where(smaller > 0, smaller / larger, 0.0))


# --- options


class OptionsColumn(Column):
    """Sets of items; an item is a key with its set of values, and has an id, 0 standing for no item at all."""

    def __init__(self) -> None:
        self._item_ids: dict[tuple[str, frozenset[str]], int] = {}
        self._items: list[tuple[str, frozenset[str]]] = [("", frozenset())]
        self._holders: dict[tuple[str, str], list[int]] = {}
        self._keys: dict[str, int] = {}
        self._codes: dict[bytes, int] = {}
        self._ids = Growing(np.int32)
        self._key_ids = Growing(np.int32)
        self._starts = Growing(np.int64)
        self._starts.extend([0])

    def code(self, value: Mapping[str, Sequence[str]]) -> int:
        items = sorted(self._item(key, frozenset(values)) for key, values in value.items())
        known_as = np.array(items, np.int32).tobytes()
        code = self._codes.get(known_as)
        if code is None:
            code = self._codes[known_as] = len(self._codes)
            self._ids.extend(items or [0])
            self._key_ids.extend([self._keys[self._items[item][0]] for item in items] or [-1])
            self._starts.extend([len(self._ids)])
        return code

    def _item(self, key: str, values: frozenset[str]) -> int:
        item = self._item_ids.get((key, values))
        if item is None:
            item = self._item_ids[key, values] = len(self._items)
            self._items.append((key, values))
            self._keys.setdefault(key, len(self._keys))
            for value in values:
                self._holders.setdefault((key, value), []).append(item)
        return item

    def freeze(self, records: int) -> View:
        return _OptionsView(
            self._item_ids,
            self._items,
            self._holders,
            self._keys,
            Ragged(self._ids.view(), self._starts.view()),
            self._key_ids.view(),
            self._codes,
        )


class _OptionsView(View):
    cost_ns = 15.0

    def __init__(
        self,
        item_ids: Mapping[tuple[str, frozenset[str]], int],
        items: Sequence[tuple[str, frozenset[str]]],
        holders: Mapping[tuple[str, str], Sequence[int]],
        keys: Mapping[str, int],
        sets: Ragged,
        key_ids: Codes,
        codes: Mapping[bytes, int],
    ) -> None:
        self.size = len(codes)
        self._item_ids, self._items, self._holders = item_ids, items, holders
        self._keys = keys
        self._item_count, self._key_count = len(items), len(keys)
        self._sets = sets
        self._key_ids = key_ids
        self._codes = codes

    def query(self, value: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
        return {key: frozenset(values) for key, values in value.items()}

    def bounds(self, query: Mapping[str, frozenset[str]], codes: Codes | None) -> Bounds:
        overlaps = np.zeros(self._item_count)
        is_shared = np.zeros(self._key_count + 1)  # the last one for the key of no item, -1
        for key, values in query.items():
            if (key_id := self._keys.get(key, self._key_count)) < self._key_count:
                is_shared[key_id] = 1.0
            for item in self._alike(key, values):
                if item < self._item_count:
                    overlaps[item] = comparers.options({key: values}, {key: self._items[item][1]})
        entries, begins = self._sets.entries(codes)
        ids = self._sets.ids if entries is None else self._sets.ids[entries]
        key_ids = self._key_ids if entries is None else self._key_ids[entries]
        if not len(begins):
            return np.zeros(0), np.zeros(0)
        common = np.add.reduceat(overlaps[ids], begins)
        shared = np.add.reduceat(is_shared[key_ids], begins)
        all_keys = np.add.reduceat((key_ids >= 0).astype(np.float64), begins) + len(query) - shared
        found = np.where(all_keys > 0, common / np.maximum(all_keys, 1.0), 1.0)
        return found, found

    def _alike(self, key: str, values: frozenset[str]) -> set[int]:
        """The items of this key that share a value, or have none either."""
        if not values:
            return {self._item_ids.get((key, values), self._item_count)}
        return {item for value in values for item in tuple(self._holders.get((key, value), ()))}

    def similarity(self, query: Mapping[str, frozenset[str]], code: int) -> float:
        return comparers.options(query, dict(self._items[item] for item in self._sets.row(code).tolist() if item))

    def is_unknown(self, query: Any) -> bool:
        return False

    def unknown(self) -> int:
        return -1
