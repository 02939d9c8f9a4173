# SPDX-License-Identifier: Apache-2.0
"""The records as the engine keeps them: a row each, with a code in every part, and what decides between ties."""

from __future__ import annotations

import dataclasses
import marshal
from collections.abc import Hashable, Iterable, Sequence
from datetime import tzinfo
from itertools import islice
from operator import attrgetter

import numpy as np

from matcher.linkage.arrays import Growing
from matcher.linkage.columns import Column, OptionsColumn, SketchColumn, ValueColumn
from matcher.linkage.features import FEATURES
from matcher.linkage.model import HammingPart, Model, OptionsPart, Part, SoftTfIdfPart
from matcher.linkage.result import LinkableRecord
from matcher.linkage.snapshot import Order, Snapshot
from matcher.linkage.softtfidf import SoftTfIdfColumn
from matcher.metadata import JobMetadata

_NAMES = tuple(field.name for field in dataclasses.fields(JobMetadata) if field.name != "options")
_VALUES = attrgetter(*_NAMES)

CHUNK = 1024  # records that are put into the columns at once


class Table:
    """Rows are only added. A removed record's is left behind, as are the values that only it had.

    A record's metadata is kept packed: as an object it takes three times as much memory.
    """

    def __init__(self, model: Model, cluster_nodes: int, zone: tzinfo | None) -> None:
        self.packed: list[bytes] = []
        self.labels: list[Hashable] = []
        self._model = model
        self._zone = zone
        parts = [part for field in model.fields for part in field.parts]
        self._features = [FEATURES[part.feature].of for part in parts]
        self._columns = [_column(part, cluster_nodes) for part in parts]
        self._codes = [Growing(np.int32) for _ in parts]
        self._label_codes: dict[Hashable, int] = {}
        self._labelled = Growing(np.int32)
        self._created_at, self._gain, self._ids = Growing(np.float64), Growing(np.float64), Growing(np.int64)
        self._alive = Growing(np.bool_)
        self._rows: dict[int, int] = {}

    def __len__(self) -> int:
        """How many records there are."""
        return len(self._rows)

    def __contains__(self, record_id: int) -> bool:
        return record_id in self._rows

    @property
    def garbage(self) -> int:
        """How many rows are of no record any more."""
        return len(self.packed) - len(self._rows)

    def living(self) -> list[LinkableRecord]:
        order, labels = self._order(), self._labelled.view()
        return [unpacked(self.packed, order, self.labels[labels[row]], row) for row in self._rows.values()]

    def add(self, records: Iterable[LinkableRecord]) -> None:
        """Add records; one whose id is there takes its place."""
        waiting = iter(records)
        while chunk := list(islice(waiting, CHUNK)):
            self._add(chunk)

    def _add(self, records: Sequence[LinkableRecord]) -> None:
        self.remove(record.id for record in records)
        for of, column, codes in zip(self._features, self._columns, self._codes, strict=True):
            more = np.array(column.codes([of(record.metadata, self._zone) for record in records]), np.int32)
            column.count(more, 1)
            codes.extend(more)
        for record in records:
            if record.label not in self._label_codes:
                self._label_codes[record.label] = len(self.labels)
                self.labels.append(record.label)
        self._labelled.extend([self._label_codes[record.label] for record in records])
        self._created_at.extend([record.created_at for record in records])
        self._gain.extend([record.gain for record in records])
        self._ids.extend([record.id for record in records])
        self._alive.extend([True] * len(records))
        for record in records:
            self._rows[record.id] = len(self.packed)
            options = dict(record.metadata.options)
            self.packed.append(marshal.dumps((record.more, options, *_VALUES(record.metadata))))

    def remove(self, ids: Iterable[int]) -> None:
        """Remove the records with these ids; others are not looked at."""
        rows = [row for record_id in ids if (row := self._rows.pop(record_id, None)) is not None]
        if not rows:
            return
        self._alive.view()[rows] = False
        for column, codes in zip(self._columns, self._codes, strict=True):
            column.count(codes.view()[rows], -1)

    def freeze(self) -> Snapshot:
        """The table as it is."""
        views = [column.freeze(len(self)) for column in self._columns]
        codes = [column.view() for column in self._codes]
        return Snapshot(self._model, views, codes, self._order(), self._labelled.view(), self._alive.view().copy())

    def _order(self) -> Order:
        return Order(self._created_at.view(), self._gain.view(), self._ids.view())


def unpacked(packed: Sequence[bytes], order: Order, label: Hashable, row: int) -> LinkableRecord:
    """The record of a row as it was given."""
    more, options, *values = marshal.loads(packed[row])  # noqa: S302 - this process's own
    metadata = JobMetadata(**dict(zip(_NAMES, values, strict=True)), options=options)
    created_at, gain = float(order.created_at[row]), float(order.gain[row])
    return LinkableRecord(int(order.ids[row]), metadata, created_at, gain, label, more)


def _column(part: Part, cluster_nodes: int) -> Column:
    if isinstance(part, SoftTfIdfPart):
        return SoftTfIdfColumn(part)
    if isinstance(part, OptionsPart):
        return OptionsColumn()
    if isinstance(part, HammingPart):
        return SketchColumn(part, cluster_nodes)
    return ValueColumn(part, cluster_nodes)
