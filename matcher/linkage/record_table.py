# SPDX-License-Identifier: Apache-2.0
"""The engine's table of records. A row has the codes of a record's values, and the values that order equal scores."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from datetime import tzinfo

import numpy as np

from reprise.matcher.linkage.arrays import Growing
from reprise.matcher.linkage.columns import Column, OptionsColumn, SketchColumn, ValueColumn
from reprise.matcher.linkage.linkage_model import HammingPart, Model, OptionsPart, Part, SoftTfIdfPart
from reprise.matcher.linkage.linkage_result import LinkableRecord
from reprise.matcher.linkage.prepared_record import Numbered, Preparation, Prepared, contents
from reprise.matcher.linkage.snapshot import Order, Snapshot
from reprise.matcher.linkage.softtfidf import SoftTfIdfColumn


class Table:
    """Append-only table of records: the rows and values of removed records remain in the table."""

    def __init__(self, model: Model, cluster_nodes: int, zone: tzinfo | None) -> None:
        self.prepare = Preparation(model, zone)
        self.packed: list[bytes] = []
        self._model = model
        self._columns = [_column(part, cluster_nodes) for field in model.fields for part in field.parts]
        self._codes = [Growing(np.int32) for _ in self._columns]
        self._label_codes = Numbered()
        self._labelled = Growing(np.int32)
        self._created_at, self._gain, self._ids = Growing(np.float64), Growing(np.float64), Growing(np.int64)
        self._alive = Growing(np.bool_)
        self._rows: dict[int, int] = {}

    def __len__(self) -> int:
        """Number of records."""
        return len(self._rows)

    def __contains__(self, record_id: int) -> bool:
        return record_id in self._rows

    @property
    def labels(self) -> list[Hashable]:
        """The distinct labels; a label's index is its code."""
        return self._label_codes.keys_in_order

    @property
    def garbage(self) -> int:
        """Number of rows that belong to removed records."""
        return len(self.packed) - len(self._rows)

    def living(self) -> list[LinkableRecord]:
        """Return all records that have not been removed."""
        order, labels = self._order(), self._labelled.view()
        return [unpacked(self.packed, order, self.labels[labels[row]], row) for row in self._rows.values()]

    def add(self, records: Iterable[LinkableRecord]) -> None:
        """Add records, which replace records with the same ids."""
        for prepared in self.prepare.chunks(records):
            self.put(prepared)

    def put(self, prepared: Prepared) -> None:
        """Add prepared records, which replace records with the same ids."""
        ids = prepared.ids.tolist()
        self.remove(ids)
        for column, codes, values in zip(self._columns, self._codes, prepared.parts, strict=True):
            more = column.put(values)[values.codes]
            column.count(more, 1)
            codes.extend(more)
        labels = np.array([self._label_codes[label] for label in prepared.labels.distinct], np.int32)
        self._labelled.extend(labels[prepared.labels.codes])
        self._created_at.extend(prepared.created_at)
        self._gain.extend(prepared.gain)
        self._ids.extend(prepared.ids)
        self._alive.extend(np.ones(len(ids), np.bool_))
        self._rows.update(zip(ids, range(len(self.packed), len(self.packed) + len(ids)), strict=True))
        self.packed += prepared.packed

    def remove(self, ids: Iterable[int]) -> None:
        """Remove the records with these ids; ignore ids that do not exist."""
        rows = [row for record_id in ids if (row := self._rows.pop(record_id, None)) is not None]
        if not rows:
            return
        self._alive.view()[rows] = False
        for column, codes in zip(self._columns, self._codes, strict=True):
            column.count(codes.view()[rows], -1)

    def freeze(self) -> Snapshot:
        """Return a snapshot of the table."""
        views = [column.freeze(len(self)) for column in self._columns]
        codes = [column.view() for column in self._codes]
        return Snapshot(self._model, views, codes, self._order(), self._labelled.view(), self._alive.view().copy())

    def _order(self) -> Order:
        return Order(self._created_at.view(), self._gain.view(), self._ids.view())


def unpacked(packed: Sequence[bytes], order: Order, label: Hashable, row: int) -> LinkableRecord:
    """Return the record in a row, rebuilt from the row's packed data and equal to the record that was added."""
    more, metadata = contents(packed[row])
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
