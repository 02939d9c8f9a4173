# SPDX-License-Identifier: Apache-2.0
"""Preparation of records for `record_table.Table`: all the work that needs no table and can be done in any process."""

from __future__ import annotations

import dataclasses
import marshal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import Any

import numpy as np

from reprise.matcher.linkage import comparers, kernel
from reprise.matcher.linkage.arrays import Codes, Indices, Ragged, Reals
from reprise.matcher.linkage.features import FEATURES
from reprise.matcher.linkage.linkage_model import LevenshteinPart, Model, OptionsPart, Part, SoftTfIdfPart
from reprise.matcher.linkage.linkage_result import LinkableRecord
from reprise.matcher.submission.metadata import JobMetadata

CHUNK = 1024  # number of records that are prepared together

Items = tuple[tuple[str, tuple[str, ...]], ...]

_APART = ("options", "script_path")  # `options` is packed separately, `script_path` is not needed
_NAMES = tuple(field.name for field in dataclasses.fields(JobMetadata) if field.name not in _APART)
_METADATA = attrgetter(*_NAMES)


class Numbered(dict[Any, int]):
    """Dictionary that numbers keys in the order of their first lookup; `keys_in_order[n]` is the key with number n."""

    def __init__(self) -> None:
        super().__init__()
        self.keys_in_order: list[Any] = []

    def __missing__(self, key: Any) -> int:
        number = len(self.keys_in_order)
        self.keys_in_order.append(key)  # stored before the number, so that a thread that reads the number finds the key
        self[key] = number
        return number


class Memo(dict[Any, int]):
    """Cache of values' codes, which calls `code` only once for each value."""

    def __init__(self, code: Callable[[Any], int]) -> None:
        super().__init__()
        self._code = code

    def __missing__(self, value: Any) -> int:
        code = self[value] = self._code(value)
        return code


@dataclass(frozen=True, slots=True)
class Values:
    """The values that some records have for one part of the model; record n has the value `distinct[codes[n]]`.

    If `bags` is given, values are bags of items: record n has the bag in row `codes[n]` of `bags`, whose ids are
    indices of the items in `distinct`.
    """

    distinct: Sequence[Any]
    codes: Codes
    bags: Ragged | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """Records that are ready for a table.

    `parts`: the records' values for each part of the model. `packed`: each record's remaining data, in the form that
    `contents` unpacks.
    """

    ids: Indices
    created_at: Reals
    gain: Reals
    labels: Values
    parts: Sequence[Values]
    packed: Sequence[bytes]


class Preparation:
    """Function that prepares records for a table of `model`; times are in `zone`, None for this host's time zone."""

    def __init__(self, model: Model, zone: tzinfo | None) -> None:
        self._zone = zone
        parts = [part for field in model.fields for part in field.parts]
        self._parts = [(FEATURES[part.feature].of, _values_of(part)) for part in parts]

    def __call__(self, records: Sequence[LinkableRecord]) -> Prepared:
        """Return these records in prepared form."""
        jobs = [record.metadata for record in records]
        return Prepared(
            ids=np.array([record.id for record in records], np.int64),
            created_at=np.array([record.created_at for record in records], np.float64),
            gain=np.array([record.gain for record in records], np.float64),
            labels=_values([record.label for record in records]),
            parts=[values([of(job, self._zone) for job in jobs]) for of, values in self._parts],
            packed=[packed(record) for record in records],
        )

    def chunks(self, records: Iterable[LinkableRecord]) -> Iterator[Prepared]:
        """Yield all records in prepared form, CHUNK records at a time."""
        waiting = iter(records)
        while chunk := list(islice(waiting, CHUNK)):
            yield self(chunk)


def packed(record: LinkableRecord) -> bytes:
    """Return a record's `more` and `metadata` as bytes, which take a third of the memory of Python objects."""
    return marshal.dumps((record.more, dict(record.metadata.options), *_METADATA(record.metadata)))


def contents(packed: bytes) -> tuple[tuple[Any, ...], JobMetadata]:
    """Return the `more` and `metadata` of a record from the bytes that `packed` returned."""
    more, options, *values = marshal.loads(packed)  # noqa: S302 - the bytes were made by this daemon
    return more, JobMetadata(**dict(zip(_NAMES, values, strict=True)), options=options)


def _values_of(part: Part) -> Callable[[Iterable[Any]], Values]:
    if isinstance(part, OptionsPart | SoftTfIdfPart):
        return partial(_bags, preparation(part))
    prepare = preparation(part)
    return _values if prepare is _unchanged else partial(_prepared_values, prepare)


def _values(values: Iterable[Any]) -> Values:
    numbers = Numbered()
    codes = np.array([numbers[value] for value in values], np.int32)
    return Values(numbers.keys_in_order, codes)


def _prepared_values(prepare: Callable[[Any], Any], values: Iterable[Any]) -> Values:
    numbers = Numbered()
    codes_of = Memo(lambda value: numbers[prepare(value)])
    codes = np.array([codes_of[value] for value in values], np.int32)
    return Values(numbers.keys_in_order, codes)


def _bags(prepare: Callable[[Any], tuple[Any, ...]], values: Iterable[Any]) -> Values:
    bags = _values(map(prepare, values))
    numbers = Numbered()
    ids = np.array([numbers[item] for bag in bags.distinct for item in bag], np.int32)
    starts = np.cumsum([0, *map(len, bags.distinct)], dtype=np.int64)
    return Values(numbers.keys_in_order, bags.codes, Ragged(ids, starts))


def preparation(part: Part) -> Callable[[Any], Any]:
    """Return a function that converts a feature's value to the hashable form that the part compares.

    If the part compares bags of items, the form is a tuple of items.
    """
    if isinstance(part, OptionsPart):
        return items
    if isinstance(part, SoftTfIdfPart):
        return partial(_tokens, part.separators, part.digits)
    if not isinstance(part, LevenshteinPart) or (part.digits and not part.clean):
        return _unchanged
    if part.digits:
        return comparers.clean
    return _clean_letters if part.clean else comparers.without_digits


def _unchanged(value: Any) -> Any:
    return value


def _clean_letters(text: str) -> str:
    return comparers.without_digits(comparers.clean(text))


def _tokens(separators: str, digits: bool, text: str) -> comparers.Tokens:
    return kernel.tokens(text, separators, digits)


def items(options: Mapping[str, Sequence[str]]) -> Items:
    """Return, for each option, the pair of its key and the sorted tuple of its distinct values."""
    return tuple(
        [(key, tuple(values) if len(values) < 2 else tuple(sorted(set(values)))) for key, values in options.items()]
    )
