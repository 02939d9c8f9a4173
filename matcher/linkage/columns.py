# SPDX-License-Identifier: Apache-2.0
"""Columns of the engine's table, one for each part of the model, which store the records' distinct values.

A column grows as records are added; `freeze` returns a view that does not change. A view compares a new job's value
with the distinct values in two ways: `bounds` compares many distinct values at once, and `similarity` compares one
distinct value exactly as `comparers` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Hamming, Levenshtein
from rapidfuzz.process import cdist

from reprise.matcher.linkage import comparers, kernel
from reprise.matcher.linkage.arrays import Codes, Growing, Ragged, Reals
from reprise.matcher.linkage.features import FEATURES, Kind
from reprise.matcher.linkage.linkage_model import (
    Absolute,
    Circular,
    HammingPart,
    LevenshteinPart,
    Part,
    Ratio,
    SameSide,
)
from reprise.matcher.linkage.prepared_record import Items, Numbered, Values, items, preparation
from reprise.matcher.submission.sketch import SIZE

TOLERANCE = 1e-11
"""Largest error of the bounds that `View.bounds` returns if `View.is_exact` is false for the query."""

PLAIN_NUMBERS = 2**52
"""Largest absolute value of numbers that are compared as floats. Up to this value, differences of integers are exact in
floats."""

Bounds = tuple[Reals, Reals]
"""Upper and lower bounds of similarities. If all upper and lower bounds are equal, both elements are the same array."""


FEW_OTHERS = 16
"""Largest number of non-sketches in a column of sketches that are compared one by one. If a column has more
non-sketches, all its texts are compared as texts, not as the bytes of sketches."""


class View(ABC):
    """A column at one point in time, with `size` distinct values, whose codes are 0 to `size` - 1."""

    size: int
    cost_ns: float  # time that `bounds` takes for each distinct value, in nanoseconds
    is_certain = True  # whether the upper and lower bounds are always equal
    is_whole = False  # whether computing the bounds for all distinct values takes no longer than for only some

    @abstractmethod
    def prepared(self, value: Any) -> Any:
        """Convert a new job's value to the hashable form that is used for comparisons, and return this form."""

    def query(self, prepared: Any) -> Any:
        """Convert a prepared value to the form that the other methods expect as `query`, and return this form."""
        return prepared

    @abstractmethod
    def bounds(self, query: Any, codes: Codes | None) -> Bounds:
        """Return bounds of the query's similarities to the distinct values with these codes; None means all values."""

    @abstractmethod
    def similarity(self, query: Any, code: int) -> float:
        """Return the query's similarity to the distinct value with this code."""

    def is_exact(self, query: Any) -> bool:
        """Return whether, for this query, both bounds that `bounds` returns are bitwise equal to `similarity`."""
        return True

    @abstractmethod
    def is_unknown(self, query: Any) -> bool:
        """Return whether the new job's value is unknown."""

    @abstractmethod
    def unknown(self) -> int:
        """Return the code that represents an unknown value, or -1 if no record's value is unknown."""


class Column(ABC):
    """The distinct values that the records have for one part of the model; more values can be added."""

    @abstractmethod
    def put(self, values: Values) -> Codes:
        """Return the code of each of `values.distinct`; new values get new codes."""

    def count(self, codes: Codes, change: int) -> None:  # noqa: B027 - most columns do not count records
        """Add `change` (1 or -1) to the number of records that have each of the values `codes`."""

    @abstractmethod
    def freeze(self, records: int) -> View:
        """Return a view of the column for a table that has `records` records."""


# --- texts and numbers


class ValueColumn(Column):
    """Column of texts or numbers. Each value is prepared once and then compared directly."""

    def __init__(self, part: Part, cluster_nodes: int) -> None:
        self._prepare = preparation(part)
        self._is_edited = isinstance(part, LevenshteinPart)
        self._is_number = FEATURES[part.feature].kind is Kind.NUMBER
        self._compare = _comparison(part, cluster_nodes)
        self._many = _comparison_of_many(part, cluster_nodes)
        self._codes = Numbered()

    def put(self, values: Values) -> Codes:
        """Return the code of each of `values.distinct`."""
        return np.array([self._codes[value] for value in values.distinct], np.int32)

    def freeze(self, records: int) -> View:
        """Return a view of the column."""
        if self._is_edited:
            return _TextView(self._prepare, self._codes, self._compare, Levenshtein.normalized_similarity)
        if self._is_number:
            return _NumberView(self._prepare, self._codes, self._compare, self._many)
        return ExactView(self._prepare, self._codes, self._compare)


class SketchColumn(ValueColumn):
    """Column of texts. Nearly all are sketches, which have SIZE ASCII characters and are compared as bytes."""

    def __init__(self, part: Part, cluster_nodes: int) -> None:
        super().__init__(part, cluster_nodes)
        self._letters = Growing(np.uint8)
        self._others: list[int] = []  # codes of texts that are not sketches, e.g. ""

    def put(self, values: Values) -> Codes:
        """Return the code of each of `values.distinct`."""
        known = len(self._codes.keys_in_order)
        codes = super().put(values)
        for code, text in enumerate(self._codes.keys_in_order[known:], known):
            is_sketch = _is_sketch(text)
            self._letters.extend(np.frombuffer(text.encode() if is_sketch else bytes(SIZE), np.uint8))
            if not is_sketch:
                self._others.append(code)
        return codes

    def freeze(self, records: int) -> View:
        """Return a view of the column."""
        return _SketchView(self._prepare, self._codes, self._compare, self._letters.view(), tuple(self._others))


def _is_sketch(text: str) -> bool:
    return len(text) == SIZE and text.isascii()


class ExactView(View):
    """View of values that are either equal or different.

    The column may add values to `codes` later; codes that are not less than `size` do not belong to this view.
    """

    cost_ns = 0.0

    def __init__(
        self,
        prepare: Callable[[Any], Any],
        codes: Numbered,
        compare: Callable[[Any, Any], float],
    ) -> None:
        self.size = len(codes.keys_in_order)
        self._prepare = prepare
        self._codes = codes
        self._values = codes.keys_in_order
        self._compare = compare

    def prepared(self, value: Any) -> Any:
        """Return the new job's value, prepared in the same way as the column's values."""
        return self._prepare(value)

    def bounds(self, query: Any, codes: Codes | None) -> Bounds:
        """Return equal upper and lower bounds: 1 for the value that equals the query, and 0 for all other values."""
        code = self._codes.get(query, self.size)
        if codes is not None:
            found = (codes == code).astype(np.float64)
        else:
            found = np.zeros(self.size)
            if code < self.size:
                found[code] = 1.0
        return found, found

    def similarity(self, query: Any, code: int) -> float:
        """Return the query's similarity to the distinct value with this code."""
        return self._compare(query, self._values[code])

    def is_unknown(self, query: Any) -> bool:
        """Return whether the query is the empty text."""
        return bool(query == "")

    def unknown(self) -> int:
        """Return the code of the empty text, or -1 if no record has this value."""
        return self.code("")

    def code(self, query: Any) -> int:
        """Return the code of the value that equals the query, or -1 if no record has this value."""
        code = self._codes.get(query, self.size)
        return code if code < self.size else -1


class _TextView(ExactView):
    cost_ns = 75.0

    def __init__(
        self,
        prepare: Callable[[Any], Any],
        codes: Numbered,
        compare: Callable[[Any, Any], float],
        scorer: Callable[..., float],
    ) -> None:
        super().__init__(prepare, codes, compare)
        self._scorer = scorer

    def bounds(self, query: str, codes: Codes | None) -> Bounds:
        if codes is not None and len(codes) > self.size // 2:  # selecting most texts takes longer than comparing all
            everything, _ = self.bounds(query, None)
            found = everything[codes]
        else:
            known = self._values
            texts = known[: self.size] if codes is None else list(map(known.__getitem__, codes.tolist()))
            found = cdist([query], texts, scorer=self._scorer, dtype=np.float64, workers=1)[0]
        return found, found


class _SketchView(_TextView):
    cost_ns = 10.0

    def __init__(
        self,
        prepare: Callable[[Any], Any],
        codes: Numbered,
        compare: Callable[[Any, Any], float],
        letters: npt.NDArray[np.uint8],
        others: Sequence[int],
    ) -> None:
        super().__init__(prepare, codes, compare, Hamming.normalized_similarity)
        self._letters = letters.reshape(-1, SIZE)
        self._others = others
        if len(others) > FEW_OTHERS:
            self.cost_ns = _TextView.cost_ns

    def bounds(self, query: str, codes: Codes | None) -> Bounds:
        if len(self._others) > FEW_OTHERS or not _is_sketch(query):
            return super().bounds(query, codes)
        letters = self._letters if codes is None else self._letters[codes]
        found = kernel.same_letters(letters.ravel(), query.encode())
        for code in self._others:
            found[code if codes is None else codes == code] = self.similarity(query, code)
        return found, found


class _NumberView(ExactView):
    """View of numbers. None means an unknown number, whose similarity to every value, including None, is 0."""

    def __init__(
        self,
        prepare: Callable[[Any], Any],
        codes: Numbered,
        compare: Callable[[Any, Any], float],
        many: Many,
    ) -> None:
        super().__init__(prepare, codes, compare)
        values = self._values[: self.size]
        known = [value for value in values if value is not None]
        self._array: Reals | None = None
        if all(-PLAIN_NUMBERS <= value <= PLAIN_NUMBERS for value in known):
            self._array = np.array([np.nan if value is None else value for value in values], np.float64)
        self._many = many

    def bounds(self, query: Any, codes: Codes | None) -> Bounds:
        found = self._all(query)
        if codes is not None:
            found = found[codes]
        return found, found

    def _all(self, query: Any) -> Reals:
        if query is None:
            return np.zeros(self.size)
        if self._array is not None and -PLAIN_NUMBERS <= query <= PLAIN_NUMBERS:
            return self._many(query, self._array)
        return np.fromiter((self.similarity(query, code) for code in range(self.size)), np.float64, self.size)

    def similarity(self, query: Any, code: int) -> float:
        value = self._values[code]
        return 0.0 if query is None or value is None else self._compare(query, value)

    def is_unknown(self, query: Any) -> bool:
        return query is None

    def unknown(self) -> int:
        return self.code(None)


def _comparison(part: Part, cluster_nodes: int) -> Callable[[Any, Any], float]:
    """Return the function that computes the similarity of two prepared values for this part of the model."""
    match part:
        case LevenshteinPart():
            return comparers.levenshtein
        case HammingPart():
            return comparers.hamming
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


Many = Callable[[float, Reals], Reals]


def _comparison_of_many(part: Part, cluster_nodes: int) -> Many:
    """Return the function that computes the similarities between one number and each number in an array."""

    def compare(comparer: int, first: float = 0.0, second: float = 0.0) -> Many:
        return lambda query, values: kernel.numbers(comparer, query, values, first, second)

    match part:
        case Circular():
            return compare(kernel.CIRCULAR, part.period)
        case SameSide():
            return compare(kernel.SAME_SIDE, part.start, part.end)
        case Ratio():
            return compare(kernel.RATIO)
        case Absolute():
            return compare(kernel.ABSOLUTE, part.maximum or cluster_nodes)
        case _:
            return compare(kernel.EQUAL)


# --- bags of items


class BagColumn(Column):
    """Column of bags (multisets) of items. The key of a bag consists of the sorted ids of its items, as bytes."""

    def __init__(self) -> None:
        self._items = Numbered()
        self._bags = Numbered()

    def put(self, values: Values) -> Codes:
        """Return the code of each distinct bag. Raises TypeError if the values are not bags."""
        if values.bags is None:
            raise TypeError("these values are not bags")
        of_items = np.array([self._items[item] for item in values.distinct], np.int32)
        bags = Ragged(of_items[values.bags.ids], values.bags.starts).in_order()
        data, ends = bags.ids.tobytes(), (bags.starts * bags.ids.itemsize).tolist()
        known = len(self._bags.keys_in_order)
        codes = np.array([self._bags[data[begin:end]] for begin, end in pairwise(ends)], np.int32)
        new = self._bags.keys_in_order[known:]
        starts = np.cumsum([0, *[len(bag) // bags.ids.itemsize for bag in new]], dtype=np.int64)
        self._extend(Ragged(np.frombuffer(b"".join(new), np.int32), starts))
        return codes

    @abstractmethod
    def _extend(self, new: Ragged) -> None:
        """Store new bags, whose items may be new as well; `_items` already contains all their items."""


class OptionsColumn(BagColumn):
    """Column of jobs' options, stored as sets of items. An item is an option's key with its sorted distinct values."""

    def __init__(self) -> None:
        super().__init__()
        self._keys = Numbered()
        # ids of the items with several values, by (key, value)
        self._several: dict[tuple[str, str], list[int]] = {}
        self._key_of_item = Growing(np.int32)
        self._ids = Growing(np.int32)
        self._starts = Growing(np.int64)
        self._starts.extend([0])

    def _extend(self, new: Ragged) -> None:
        known = len(self._key_of_item)
        come = self._items.keys_in_order[known:]
        for number, (key, values) in enumerate(come, known):
            if len(values) > 1:
                for value in values:
                    self._several.setdefault((key, value), []).append(number)
        self._key_of_item.extend([self._keys[key] for key, _ in come])
        self._ids.extend(new.ids)
        self._starts.extend(self._starts.view()[-1] + new.starts[1:])

    def freeze(self, records: int) -> View:
        """Return a view of the column."""
        sets = Ragged(self._ids.view(), self._starts.view())
        return _OptionsView(self._items, self._several, self._keys, sets, self._key_of_item.view())


class _OptionsQuery:
    """A new job's options, and their similarities to the column's sets, which are computed when first needed."""

    def __init__(self, items: Iterable[tuple[str, Sequence[str]]]) -> None:
        self.options = {key: frozenset(values) for key, values in items}
        self.similarities: Reals | None = None
        self.is_exact = False


class _OptionsView(View):
    cost_ns = 5.0
    is_whole = True

    def __init__(
        self,
        items: Numbered,
        several: Mapping[tuple[str, str], Sequence[int]],
        keys: Numbered,
        sets: Ragged,
        key_of_item: Codes,
    ) -> None:
        self.size = len(sets)
        self._items, self._several, self._keys = items, several, keys
        self._item_count = len(key_of_item)
        self._key_count = len(keys.keys_in_order)
        self._key_of_item = key_of_item
        self._sets = sets
        self._holders = kernel.holders(sets.ids, sets.starts, self._item_count)

    def prepared(self, value: Mapping[str, Sequence[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return items(value)

    def query(self, prepared: Items) -> _OptionsQuery:
        return _OptionsQuery(prepared)

    def bounds(self, query: _OptionsQuery, codes: Codes | None) -> Bounds:
        if query.similarities is None:
            query.similarities = self._all(query)
        found = query.similarities if codes is None else query.similarities[codes]
        return found, found

    def is_exact(self, query: _OptionsQuery) -> bool:
        return query.is_exact

    def _all(self, query: _OptionsQuery) -> Reals:
        overlaps: dict[int, float] = {}
        shared: dict[int, float] = {}
        for key, values in query.options.items():
            key_id = self._keys.get(key, self._key_count)
            if key_id < self._key_count:
                shared[key_id] = 1.0
                for item in self._alike(key, values):
                    overlaps[item] = comparers.options({key: values}, self._options([item]))
        query.is_exact = all(overlap == 1.0 for overlap in overlaps.values())  # sums of fractions may be rounded
        return kernel.option_similarities(
            self._sets.ids,
            self._sets.starts,
            self._key_of_item,
            *self._holders,
            self._key_count,
            overlaps,
            shared,
            len(query.options),
        )

    def _alike(self, key: str, values: frozenset[str]) -> set[int]:
        """Return the ids of the items with this key and any of `values`, or with no value if `values` is empty."""
        found = {self._items.get((key, (value,)), self._item_count) for value in values}
        if not values:
            found.add(self._items.get((key, ()), self._item_count))
        for value in values:
            found.update(tuple(self._several.get((key, value), ())))
        return {item for item in found if item < self._item_count}

    def _options(self, items: Iterable[int]) -> dict[str, frozenset[str]]:
        return {key: frozenset(values) for key, values in map(self._items.keys_in_order.__getitem__, items)}

    def similarity(self, query: _OptionsQuery, code: int) -> float:
        return comparers.options(query.options, self._options(self._sets.row(code).tolist()))

    def is_unknown(self, query: Any) -> bool:
        return False

    def unknown(self) -> int:
        return -1
