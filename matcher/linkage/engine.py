# SPDX-License-Identifier: Apache-2.0
"""Engine that finds the records most similar to a new job, and explains their scores.

Records can be added and removed at any time. Each linkage reads a snapshot of the records. A change prepares a new
snapshot of the records and then replaces the old snapshot, so linkages never wait for a change.
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
"""The table is rebuilt when it has more rows of removed records than rows of current records plus this number."""

UNPACKED = 2048
"""Maximum number of records that stay unpacked in memory after a linkage has found them; each takes about 3 KiB."""


@dataclass(frozen=True)
class _Served:
    """The snapshot in use, and the contents and labels of its records.

    `packed` and `labels` may be longer than the snapshot, because later changes append to both. `count` is the number
    of records.
    """

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
    """Engine that links new jobs to `records` under `model`.

    `cluster_nodes`: two node counts that differ by at least this number have similarity 0 (d_max in Robert 2021).
    `timezone`: name of the time zone in which hours and days are computed, "" for this host's time zone. Any thread may
    link jobs or change records at any time.
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
        """Number of records."""
        return self._served.count

    def latest(self) -> LinkableRecord | None:
        """Return the record that was added most recently, even if it has since been removed; None if there is none."""
        rows = len(self._served.snapshot.alive)
        return self._served.record(rows - 1) if rows else None

    def change(self, *, add: Iterable[LinkableRecord] = (), remove: Iterable[int] = ()) -> None:
        """Add records, which replace records with the same ids, then remove the records with the ids `remove`.

        The whole change takes effect at once, before this method returns. Linkages do not wait for it.
        """
        self.take(self.prepare.chunks(add), remove)

    @property
    def prepare(self) -> Preparation:
        """Function that prepares records for `take`; it can be called in any process."""
        return self._table.prepare

    def take(self, prepared: Iterable[Prepared], remove: Iterable[int] = ()) -> None:
        """Change the records as `change` does, but add records that have already been prepared with `prepare`."""
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
        """Compare a new job with all current records."""
        return Asked(self.model, self._layout, self._served, metadata, self._zone)

    def link(self, metadata: JobMetadata, k: int = 5, among: Container[int] | None = None) -> Linkage:
        """Return the `k` nearest records, best first, with explanations.

        `among` restricts the result to records with these ids.

        Records that reach the threshold come first. Among those, records whose values of the model's preferred features
        (`Model.prefer`) equal the job's values come first. Otherwise, records are ordered by score, then from the
        newest to the oldest, then by decreasing gain, then by id. Records outside `among` still count in the
        frequencies of path tokens.
        """
        asked = self.ask(metadata)
        linkage = asked.nearest(k, among)
        return dataclasses.replace(linkage, matches=tuple(asked.explained(match) for match in linkage.matches))


class Asked:
    """A new job, compared with all records at the time of `Engine.ask`."""

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
        self._rows: dict[int, int] = {}  # row of each record that has been returned, by record id

    def nearest(self, k: int = 5, among: Container[int] | None = None) -> Linkage:
        """Return the result of `Engine.link`, but without the matches' `fields`, which `explained` adds."""
        rows = None
        if among is not None:
            ids = self._served.snapshot.order.ids.tolist()
            rows = np.array([row for row, number in enumerate(ids) if number in among], np.int64)
        return self._linkage(k, self._comparison.leading(k, rows=rows))

    def nearest_and_similar(self, k: int) -> tuple[Linkage, list[Hashable]]:
        """Return the result of `nearest`, and the distinct labels of all records that reach the threshold.

        The labels may include labels of records slightly below the threshold. `nearest_similar` may be called
        afterwards.
        """
        snapshot = self._served.snapshot
        self._similar = self._comparison.leading(k, similar=True)
        rows = self._similar.rows[self._similar.most >= snapshot.reached[0] - self._comparison.margin]
        codes = np.flatnonzero(np.bincount(snapshot.labels[rows]))
        return self._linkage(k, self._similar), [self._served.labels[code] for code in codes.tolist()]

    def nearest_similar(self, labels: Collection[Hashable], k: int = 1) -> Linkage:
        """Return the `k` nearest of the records that reach the threshold and have one of these labels.

        Raises RuntimeError if `nearest_and_similar` has not been called.
        """
        similar = self._similar
        if similar is None:
            raise RuntimeError("call nearest_and_similar first")
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
        """Return a match that `nearest` found, with its fields filled in."""
        return self.waterfall(match).explained()

    def coarse(self, match: Match) -> tuple[float, bool]:
        """Return a match's coarse score, and whether its record equals the job in all features that the model prefers.

        `coarse_total` defines the coarse score: each value counts only as equal, nearly equal or different.
        """
        parts = self._comparison.of(self._rows[match.record.id])
        score = round(self._model.score(coarse_total(self._layout, parts)), TOTAL_DECIMALS)
        return score, all(parts[number][0] == 1.0 for number in self._layout.preferred)

    def waterfall(self, match: Match) -> Waterfall:
        """Return the data for a later explanation of a match; the data do not grow with the number of records."""
        row = self._rows[match.record.id]
        weights = self._served.snapshot.weights
        return Waterfall(self._layout, weights, self._values, self._comparison.of(row), match, self._zone)
