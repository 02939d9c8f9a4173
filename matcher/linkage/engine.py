# SPDX-License-Identifier: Apache-2.0
"""The engine: the records nearest to a new job, explained, while records come and go.

Who links reads a snapshot. A change of the records makes the next one and puts it in its place when it is ready, so
that nobody waits for it.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Collection, Container, Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from zoneinfo import ZoneInfo

import numpy as np

from reprise.matcher.linkage.linkage_model import Model
from reprise.matcher.linkage.linkage_result import LinkableRecord, Linkage, Match
from reprise.matcher.linkage.prepared_record import Preparation, Prepared
from reprise.matcher.linkage.record_table import Table, unpacked
from reprise.matcher.linkage.snapshot import TOTAL_DECIMALS, Comparison, Leading, Snapshot
from reprise.matcher.linkage.waterfall import Layout, Waterfall, coarse_total
from reprise.matcher.submission.metadata import JobMetadata

GARBAGE = 4096
"""Rows that removed records may leave behind, beyond as many as there are records, before the table is made anew."""

UNPACKED = 2048
"""Records that were found, and are kept unpacked for those who find them next: some 3 KiB each."""


@dataclass(frozen=True)
class _Served:
    """What is linked to. The two lists may have more at their end than the snapshot knows of."""

    snapshot: Snapshot
    packed: Sequence[bytes]
    labels: Sequence[Hashable]
    count: int
    unpacked: dict[int, LinkableRecord] = dataclasses.field(default_factory=dict)

    def record(self, row: int) -> LinkableRecord:
        found = self.unpacked.get(row)
        if found is None:
            found = unpacked(self.packed, self.snapshot.order, self.labels[self.snapshot.labels[row]], row)
            if len(self.unpacked) < UNPACKED:
                self.unpacked[row] = found
        return found


class Engine:
    """Links new jobs to `records` under `model`.

    `cluster_nodes` is the largest difference of node counts that means anything (d_max). `timezone` is the name of the
    zone in which hours and days are read, "" for this host's. Any thread may link or change records at any time.
    """

    def __init__(
        self, model: Model, records: Iterable[LinkableRecord] = (), *, cluster_nodes: int, timezone: str = ""
    ) -> None:
        self.model = model
        self._cluster_nodes = cluster_nodes
        self._zone: tzinfo | None = ZoneInfo(timezone) if timezone else None
        self._layout = Layout(model)
        self._changing = threading.Lock()
        self._table = Table(model, cluster_nodes, self._zone)
        self.change(add=records)

    def __len__(self) -> int:
        """How many records there are."""
        return self._served.count

    def latest(self) -> LinkableRecord | None:
        """The record that was added last, there still or not."""
        rows = len(self._served.snapshot.alive)
        return self._served.record(rows - 1) if rows else None

    def change(self, *, add: Iterable[LinkableRecord] = (), remove: Iterable[int] = ()) -> None:
        """Add records, one whose id is there in its place, and then remove records by their ids.

        All of it is in force when this returns, and nothing of it before. Who links meanwhile does not wait.
        """
        self.take(self.prepare.chunks(add), remove)

    @property
    def prepare(self) -> Preparation:
        """Prepares records for `take`, in any process."""
        return self._table.prepare

    def take(self, prepared: Iterable[Prepared], remove: Iterable[int] = ()) -> None:
        """As `change`, with records that are prepared."""
        with self._changing:
            for some in prepared:
                self._table.put(some)
            self._table.remove(remove)
            if self._table.garbage > len(self._table) + GARBAGE:
                records = self._table.living()
                self._table = Table(self.model, self._cluster_nodes, self._zone)
                self._table.add(records)
            table = self._table
            self._served = _Served(table.freeze(), table.packed, table.labels, len(table))

    def ask(self, metadata: JobMetadata) -> Asked:
        """Compare a new job with all records as they are now."""
        return Asked(self.model, self._layout, self._served, metadata, self._zone)

    def link(self, metadata: JobMetadata, k: int = 5, among: Container[int] | None = None) -> Linkage:
        """The `k` nearest records (of those whose id is in `among`, if given), best first.

        First come those that reach the threshold, and of these the ones with the job's value of what the model prefers.
        Ties: the newest record, then the largest gain, then the lowest id. Records outside `among` still count in the
        frequencies of path tokens.
        """
        asked = self.ask(metadata)
        linkage = asked.nearest(k, among)
        return dataclasses.replace(linkage, matches=tuple(asked.explained(match) for match in linkage.matches))


class Asked:
    """A new job, compared with all records as they were when it was asked about."""

    def __init__(
        self, model: Model, layout: Layout, served: _Served, metadata: JobMetadata, zone: tzinfo | None
    ) -> None:
        self._model = model
        self._layout = layout
        self._served = served
        self._values = [value(metadata, zone) for value in layout.values]
        self._zone = zone
        self._comparison = Comparison(served.snapshot, self._values)
        self._similar: Leading | None = None
        self._rows: dict[int, int] = {}  # of the records that were found, by their ids

    def nearest(self, k: int = 5, among: Container[int] | None = None) -> Linkage:
        """As `Engine.link`, but without the fields: `explained` has those."""
        rows = None
        if among is not None:
            ids = self._served.snapshot.order.ids.tolist()
            rows = np.array([row for row, number in enumerate(ids) if number in among], np.int64)
        return self._linkage(k, self._comparison.leading(k, rows=rows))

    def nearest_and_similar(self, k: int) -> tuple[Linkage, list[Hashable]]:
        """The `k` nearest, as `nearest`; and the labels of all records over the threshold, and perhaps of some that are
        hardly under it. `nearest_similar` may be asked afterwards.
        """
        snapshot = self._served.snapshot
        self._similar = self._comparison.leading(k, similar=True)
        rows = self._similar.rows[self._similar.most >= snapshot.reached[0] - snapshot.margin]
        codes = np.flatnonzero(np.bincount(snapshot.labels[rows]))
        return self._linkage(k, self._similar), [self._served.labels[code] for code in codes.tolist()]

    def nearest_similar(self, labels: Collection[Hashable], k: int = 1) -> Linkage:
        """The `k` nearest records, over the threshold, that have one of these labels."""
        similar = self._similar
        if similar is None:
            raise RuntimeError("nearest_and_similar comes first")
        has_one = [label in labels for label in self._served.labels]
        chosen = np.array(has_one, np.bool_)[self._served.snapshot.labels[similar.rows]]
        return self._linkage(k, similar.only(chosen))

    def _linkage(self, k: int, leading: Leading) -> Linkage:
        ranked = self._comparison.best(k, leading)
        matches = []
        for row, total in zip(ranked.rows.tolist(), ranked.totals.tolist(), strict=True):
            record = self._served.record(row)
            self._rows[record.id] = row
            matches.append(Match(record, round(self._model.score(total), TOTAL_DECIMALS), ()))
        return Linkage(self._model.label, self._model.threshold, tuple(matches))

    def explained(self, match: Match) -> Match:
        """One of the nearest, with its fields."""
        return self.waterfall(match).explained()

    def coarse(self, match: Match) -> tuple[float, bool]:
        """The score of one of the nearest as it would be without what lies between the same value, nearly the same and
        another one; and whether it has the job's value of what the model prefers."""
        parts = self._comparison.of(self._rows[match.record.id])
        score = round(self._model.score(coarse_total(self._layout, parts)), TOTAL_DECIMALS)
        return score, all(parts[number][0] == 1.0 for number in self._layout.preferred)

    def waterfall(self, match: Match) -> Waterfall:
        """What explains one of the nearest later. It holds nothing that is as long as there are records, or nearly."""
        row = self._rows[match.record.id]
        weights = self._served.snapshot.weights
        return Waterfall(self._layout, weights, self._values, self._comparison.of(row), match, self._zone)
