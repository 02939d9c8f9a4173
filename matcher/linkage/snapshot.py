# SPDX-License-Identifier: Apache-2.0
"""All records at one point in time, and the comparison of a new job with them.

First, the contributions of the parts with few distinct values are added up for every row. Then those of the other parts
are added one by one, but only for rows that can still be among the nearest. A row is dropped if its total, even with
the largest possible contributions of the remaining parts, cannot reach the lower bounds of the best rows' totals. No
row that could be among the nearest is therefore dropped. Totals are accurate to a margin. The totals of rows that are
closer than the margin to each other or to the threshold are computed exactly. The loops are in `kernel`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from reprise.matcher.linkage import kernel
from reprise.matcher.linkage.arrays import Codes, Indices, Reals
from reprise.matcher.linkage.columns import TOLERANCE, Bounds, ExactView, View
from reprise.matcher.linkage.features import OF_IO
from reprise.matcher.linkage.linkage_model import Curve, Model

TOTAL_DECIMALS = 12
"""Number of decimals to which scores and exact totals are rounded, so that equal jobs score exactly 1 and ties do not
depend on the order of a sum."""

MERGED = 8192
"""Largest number of combinations of distinct values in a table for several parts, so that the table fits in the
processor's cache."""

EVERY_ROW_NS = 100_000.0
PER_ROW_NS = 2.0
"""A part's contributions are added up for every row if comparing all the part's distinct values takes at most
EVERY_ROW_NS nanoseconds, or at most PER_ROW_NS nanoseconds per row, because dropping rows first would take about as
long."""

HELD_BYTES = 4 * 2**20
HELD_BYTES_EACH = 8192
LEAST_HELD, MOST_EXACT = 32, 64
"""Limits of the cache of comparisons. Users submit the same job again and again, so the results for a value are kept
for the next job with this value. Each part has a cache of HELD_BYTES bytes, if that is enough for LEAST_HELD values;
otherwise the part has no cache. At most MOST_EXACT exact comparisons are kept for a value. The results for a value are
estimated to take HELD_BYTES_EACH bytes plus 16 bytes for each distinct value of the part."""

BLOCKS = 64
"""Number of blocks into which rows are divided to find promising rows, one in each block; their lower bounds determine
which other rows can be dropped."""

LEAST = float(np.finfo(np.float64).min)
"""A total that every record reaches. The rows of removed records do not, because their totals are minus infinity."""


Exact = tuple[float, float]
"""A similarity, and the contribution of this similarity to the total."""


@dataclass(frozen=True)
class Order:
    """Values that determine the order of rows with equal totals: newest first, then largest gain, then lowest id."""

    created_at: Reals
    gain: Reals
    ids: Indices


class Lines:
    """Piecewise linear function through the points (xs, ys)."""

    def __init__(self, xs: Sequence[float], ys: npt.ArrayLike) -> None:
        self._xs, self._ys = np.array(xs, np.float64), np.array(ys, np.float64)

    def at(self, places: Reals) -> Reals:
        """Return the function's value at each x in `places`."""
        return kernel.along(places, self._xs, self._ys)

    def height(self, place: float) -> float:
        """Return the function's value at x = `place`."""
        return kernel.height(place, self._xs, self._ys)


@dataclass(slots=True)
class Held:
    """Cached results of comparing a new job's value with one part's values, for later jobs with the same value.

    `everything`: bounds of the contributions of all distinct values, None until they are computed. `exact`: exact
    results for some distinct values, by code.
    """

    query: Any
    everything: Bounds | None
    exact: dict[int, Exact]

    @classmethod
    def of(cls, view: View, prepared: Any) -> Held:
        """Return a `Held` for this value that has no results yet."""
        return cls(view.query(prepared), None, {})


class Contribution:
    """The contributions of one part to the rows' totals, computed from similarities by the part's curve."""

    def __init__(self, view: View, curve: Curve, codes: Codes) -> None:
        self.view = view
        self.held: Callable[[Any], Held] = partial(Held.of, view)
        room = HELD_BYTES // (HELD_BYTES_EACH + 16 * view.size)
        if room >= LEAST_HELD:
            self.held = lru_cache(maxsize=room)(self.held)
        self.codes = codes  # the code of each row's value
        self.curve = curve
        self.most = curve.most
        self._along = Lines(curve.similarities, curve.values)
        everything = {*curve.values, curve.values[0] if curve.unknown is None else curve.unknown}
        self.constant = curve.values[0] if len(everything) == 1 else None  # None if contributions differ
        self._above = Lines(curve.similarities, np.maximum.accumulate(curve.values))
        self._below = Lines(curve.similarities, np.minimum.accumulate(curve.values[::-1])[::-1])
        rises = np.diff(curve.values) / np.diff(curve.similarities)
        self.margin = float(np.abs(rises).max()) * TOLERANCE
        self.largest = max(map(abs, curve.values)) + abs(curve.unknown or 0.0)

    @property
    def may_be_left_out(self) -> bool:
        """Whether the part can be added last, because it needs no bounds, and be left out if it `adds_nothing`."""
        return self.curve.unknown == 0 and isinstance(self.view, ExactView)

    def adds_nothing(self, held: Held) -> bool:
        """Return whether the part adds 0 to all rows, because the new job's or all records' values are unknown.

        The part must be one that may be left out.
        """
        known_values = self.view.size - (self.view.unknown() >= 0)
        return not known_values or self.view.is_unknown(held.query)

    def bounds(self, held: Held, codes: Codes | None) -> Bounds:
        """Return upper and lower bounds of the contributions of the distinct values with the codes `codes`.

        If `codes` is None, return the bounds for all distinct values. The bounds are accurate to `margin`.
        """
        if codes is not None and held.everything is None:
            return self._bounds(held.query, codes)
        if held.everything is None:
            held.everything = self._bounds(held.query, None)
        most, least = held.everything
        if codes is None:
            return most, least
        chosen = most[codes]
        return chosen, (chosen if most is least else least[codes])

    def _bounds(self, query: Any, codes: Codes | None) -> Bounds:
        if self.curve.unknown is not None and self.view.is_unknown(query):
            same = np.full(self.view.size if codes is None else len(codes), self.curve.unknown)
            return same, same
        most, least = self.view.bounds(query, codes)
        if most is least:
            most = least = self._with_unknown(codes, self._along.at(most))
            return most, least
        upper, lower = self._above.at(most), self._below.at(least)
        return self._with_unknown(codes, upper), self._with_unknown(codes, lower)

    def table(self, held: Held, codes: Codes) -> Reals | dict[int, float] | float:
        """Return the exact contributions of `codes`, in one of three forms that `kernel.totals_of` accepts.

        The forms are an array of all distinct values' contributions, a dictionary of the contributions of `codes`, and
        a single number that is the contribution of every value.
        """
        if self.constant is not None:
            return self.constant
        if held.everything is not None and self.view.is_exact(held.query):
            return held.everything[0]
        return {code: self.exact(held, code)[1] for code in set(codes.tolist())}

    def exact(self, held: Held, code: int) -> Exact:
        """Return the similarity and the contribution of the distinct value with this code."""
        known = held.exact.get(code)
        if known is None:
            known = self._exact(held, code)
            if len(held.exact) < MOST_EXACT:
                held.exact[code] = known
        return known

    def _exact(self, held: Held, code: int) -> Exact:
        similarity = self.view.similarity(held.query, code)
        unknown = self.curve.unknown
        if unknown is not None and (code == self.view.unknown() or self.view.is_unknown(held.query)):
            return similarity, unknown
        return similarity, self._along.height(similarity)

    def _with_unknown(self, codes: Codes | None, added: Reals) -> Reals:
        if self.curve.unknown is None:
            return added
        unknown = self.view.unknown()
        if unknown >= 0:
            if codes is None:
                added[unknown] = self.curve.unknown
            else:
                added[codes == unknown] = self.curve.unknown
        return added


@dataclass(frozen=True)
class Axis:
    """Parts of the model whose contributions to a score are added up in advance, in one table of sums.

    `codes`: for each record, the index of its sum in this table.
    """

    parts: tuple[int, ...]
    codes: Codes


class Snapshot:
    """The table's rows at one point in time.

    `labels`: codes of the records' labels. `alive`: False for removed records. `columns` and `codes` have one element
    for each part of the model. `margin` is the accuracy of totals for jobs to which the parts `rare` add nothing, and
    `margin_with_rare` that for other jobs.
    """

    def __init__(
        self,
        model: Model,
        columns: Sequence[View],
        codes: Sequence[Codes],
        order: Order,
        labels: Codes,
        alive: npt.NDArray[np.bool_],
    ) -> None:
        self.model = model
        self.order = order
        self.labels = labels
        self.alive = alive
        curves = [curve for of_field in model.curves() for curve in of_field]
        self.parts = [Contribution(*one) for one in zip(columns, curves, codes, strict=True)]
        self.weights = [part.most for part in self.parts]
        always = model.offset + sum(part.constant for part in self.parts if part.constant is not None)
        self.start = np.where(alive, always, -np.inf)
        cheap_ns = max(EVERY_ROW_NS, PER_ROW_NS * len(alive))
        varying = {number for number, part in enumerate(self.parts) if part.constant is None}
        features = [part.feature for field in model.fields for part in field.parts]
        # Parts that nearly always add nothing are left out for most jobs, and added last for others. So the other parts
        # are added in the same order, with the same rounding errors, whether the model has these parts or not.
        self.rare = sorted(
            number for number in varying if features[number] in OF_IO and self.parts[number].may_be_left_out
        )
        varying.difference_update(self.rare)
        costs = [part.view.size * part.view.cost_ns for part in self.parts]
        self.cheap = {number for number in varying if costs[number] <= cheap_ns}
        merged = [number for number in sorted(self.cheap) if self.parts[number].view.is_certain]
        groups = _groups(merged, [part.view.size for part in self.parts], min(MERGED, len(alive) // 2))
        self.axes = [self._axis(group) for group in groups]
        self.stages = sorted(varying - set(merged), key=costs.__getitem__)
        self.preferred = [model.preferring(feature) for feature in model.prefer]
        self.reached = (  # totals below the first number miss the threshold; totals from the second number on reach it
            model.total(model.threshold - 10.0**-TOTAL_DECIMALS),
            model.total(model.threshold + 10.0**-TOTAL_DECIMALS),
        )
        self.margin_with_rare = self._margin(self.parts)
        self.margin = self._margin([part for number, part in enumerate(self.parts) if number not in self.rare])

    def _margin(self, parts: Sequence[Contribution]) -> float:
        scale = abs(self.model.offset) + sum(part.largest for part in parts)
        rounding = scale * 2.0**-52 * (len(parts) + 2)
        return rounding + sum(part.margin for part in parts) + 10.0**-TOTAL_DECIMALS

    def _axis(self, group: tuple[int, ...]) -> Axis:
        codes = self.parts[group[0]].codes
        for number in group[1:]:
            codes = codes * self.parts[number].view.size + self.parts[number].codes
        return Axis(group, codes)


def _groups(parts: Sequence[int], sizes: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """Group parts so that a group of two or more parts has at most `most` combinations of distinct values.

    Parts with the fewest distinct values are grouped first.
    """
    groups: list[tuple[int, ...]] = []
    combinations = 1
    for part in sorted(parts, key=lambda number: sizes[number]):
        size = max(1, sizes[part])
        if groups and combinations * size <= most:
            groups[-1] += (part,)
            combinations *= size
        else:
            groups.append((part,))
            combinations = size
    return groups


@dataclass(frozen=True)
class Ranked:
    """The best rows, best first, with their totals, which are accurate to the snapshot's margin."""

    rows: Indices
    totals: Reals


@dataclass(frozen=True)
class Leading:
    """Rows that may be among the nearest to the new job, with upper and lower bounds of their totals.

    The bounds are accurate to the snapshot's margin.
    """

    rows: Indices
    most: Reals
    least: Reals

    @property
    def is_certain(self) -> bool:
        """Whether the upper and the lower bounds are equal."""
        return self.most is self.least

    def only(self, chosen: npt.NDArray[np.bool_]) -> Leading:
        """Return only the rows for which `chosen` is True."""
        most = self.most[chosen]
        return Leading(self.rows[chosen], most, most if self.is_certain else self.least[chosen])


class Comparison:
    """Comparison of one new job with all rows of a snapshot. `values` has one value for each part.

    `margin` is the accuracy of totals.
    """

    def __init__(self, snapshot: Snapshot, values: Sequence[Any]) -> None:
        self._snapshot = snapshot
        self._parts = snapshot.parts
        self._held = [part.held(part.view.prepared(value)) for part, value in zip(self._parts, values, strict=True)]
        self._stages = list(snapshot.stages)
        self._rare = [number for number in snapshot.rare if not self._parts[number].adds_nothing(self._held[number])]
        self.margin = snapshot.margin_with_rare if self._rare else snapshot.margin
        self._base = self._of_every_row()

    def _of_every_row(self) -> Reals:
        """Return, for every row, the total of the parts with few distinct values; minus infinity for removed records.

        The parts that are not included remain in `_stages`.
        """
        tables, codes = [], []
        for number in self._snapshot.cheap.intersection(self._stages):
            most, least = self._parts[number].bounds(self._held[number], None)
            if most is least:  # nearly always true
                tables.append(most)
                codes.append(self._parts[number].codes)
                self._stages.remove(number)
        for axis in self._snapshot.axes:
            several = [self._parts[number].bounds(self._held[number], None)[0] for number in axis.parts]
            tables.append(kernel.combined(several))
            codes.append(axis.codes)
        for number in self._rare:
            tables.append(self._parts[number].bounds(self._held[number], None)[0])
            codes.append(self._parts[number].codes)
        return kernel.add_up(self._snapshot.start, tables, codes)

    def leading(self, k: int, *, similar: bool = False, rows: Indices | None = None) -> Leading:
        """Return the rows that may be among the best `k` or, if `similar`, may reach the threshold.

        If `rows` is given, all other rows are ignored.
        """
        snapshot = self._snapshot
        bound = snapshot.reached[0] - self.margin if similar or snapshot.preferred else np.inf
        if rows is None and not self._stages:
            found = kernel.leading(self._base, k, bound, 2 * self.margin)
            totals = self._base[found]
            return Leading(found, totals, totals)
        return self._narrowed(k, bound, rows)

    def best(self, k: int, leading: Leading) -> Ranked:
        """Return the best `k` rows of `leading`."""
        slack = 2 * self.margin
        ranks = self._ranks(leading)
        chosen, is_close = self._chosen(k, ranks, leading.least, leading.rows, slack)
        if len(chosen) == 0 or (leading.is_certain and not is_close):
            return Ranked(leading.rows[chosen], leading.least[chosen])
        last = chosen[-1]
        contenders = (ranks > ranks[last]) | ((ranks == ranks[last]) & (leading.most >= leading.least[last] - slack))
        ranks, rows = ranks[contenders], leading.rows[contenders]
        totals = self.totals(rows)
        chosen, _ = self._chosen(k, ranks, totals, rows, 0.0)
        return Ranked(rows[chosen], totals[chosen])

    def _chosen(self, k: int, ranks: Indices, totals: Reals, rows: Indices, slack: float) -> tuple[Indices, bool]:
        order = self._snapshot.order
        return kernel.best(k, ranks, totals, rows, order.created_at, order.gain, order.ids, slack)

    def _ranks(self, leading: Leading) -> Indices:
        """Return each row's rank: 0 if the row misses the threshold or no features are preferred, otherwise positive.

        A row ranks higher if its value of a preferred feature equals the job's value. Each preferred feature counts
        more than all later features together.
        """
        if not self._snapshot.preferred:
            return np.zeros(len(leading.rows), np.int64)
        margin, (under, over) = self.margin, self._snapshot.reached
        reaches = leading.least >= over + margin
        unsure = np.flatnonzero(~reaches & (leading.most >= under - margin))
        model = self._snapshot.model
        if len(unsure):
            totals = self.totals(leading.rows[unsure]).tolist()
            reaches[unsure] = [round(model.score(total), TOTAL_DECIMALS) >= model.threshold for total in totals]
        ranks = np.ones(len(reaches), np.int64)
        for number in self._snapshot.preferred:
            view, query = self._parts[number].view, self._held[number].query
            code = view.code(query) if isinstance(view, ExactView) and not view.is_unknown(query) else -1
            ranks = 2 * ranks + (self._parts[number].codes[leading.rows] == code)
        return np.where(reaches, ranks, 0)

    def _narrowed(self, k: int, bound: float, rows: Indices | None) -> Leading:
        """Return the leading rows, as `kernel.leading` does, after adding the parts in `_stages` one by one.

        Only `rows` are considered, if given. Before each part is added, each row is dropped that cannot be among the
        leading ones, judged by the lower bounds of some promising rows' totals.
        """

        def floor(least: Reals) -> float:
            if k < 1 or len(least) < k:
                return -np.inf
            return min(float(np.partition(least, -k)[-k]), bound)

        margin = self.margin
        stages = list(self._stages)
        most: Reals = self._base if rows is None else self._base[rows]
        least = most
        best = -np.inf
        while True:
            seeds = _promising(most)
            at_least = least[seeds]
            for number in stages:
                part = self._parts[number]
                here = seeds if rows is None else rows[seeds]
                at_least += part.bounds(self._held[number], part.codes[here])[1]
            best = max(best, floor(at_least) - 2 * margin)
            to_come = sum(self._parts[number].most for number in stages)
            keep = np.flatnonzero(most >= max(best - to_come, LEAST))
            rows = keep if rows is None else rows[keep]
            is_certain = least is most
            most = most[keep]
            least = most if is_certain else least[keep]
            if not stages:
                return Leading(rows, most, least)
            more = self._of_rows(stages.pop(0), rows)
            if is_certain and more[0] is more[1]:  # nearly always true, and saves half the work
                most = least = most + more[0]
            else:
                most, least = most + more[0], least + more[1]

    def _of_rows(self, number: int, rows: Indices) -> tuple[Reals, Reals]:
        """Return upper and lower bounds of a part's contributions to `rows`; compare each distinct value only once."""
        part = self._parts[number]
        codes = part.codes[rows]
        if part.view.is_whole and len(rows) < part.view.size:
            return part.bounds(self._held[number], codes)
        if part.view.is_whole or len(rows) > 4 * part.view.size:
            most, least = part.bounds(self._held[number], None)
            added = most[codes]
            return added, (added if most is least else least[codes])
        if len(rows) < part.view.size // 16:
            distinct, where = np.unique(codes, return_inverse=True)
        else:
            occurs = np.zeros(part.view.size, np.bool_)
            occurs[codes] = True
            distinct = np.flatnonzero(occurs).astype(np.int32)
            places = np.zeros(part.view.size, np.int64)
            places[distinct] = np.arange(len(distinct))
            where = places[codes]
        most, least = part.bounds(self._held[number], distinct)
        added = most[where]
        return added, (added if most is least else least[where])

    def totals(self, rows: Indices) -> Reals:
        """Return the exact totals of `rows`, rounded to TOTAL_DECIMALS decimals."""
        codes = [part.codes for part in self._parts]
        tables = [part.table(held, part.codes[rows]) for part, held in zip(self._parts, self._held, strict=True)]
        totals = kernel.totals_of(self._snapshot.model.offset, tables, codes, rows)
        return np.array([round(total, TOTAL_DECIMALS) for total in totals.tolist()], np.float64)

    def of(self, row: int) -> Sequence[Exact]:
        """Return the similarity and the contribution of each part for a row."""
        return [part.exact(held, part.codes.item(row)) for part, held in zip(self._parts, self._held, strict=True)]


def _promising(totals: Reals) -> Indices:
    """Return the indices of promising totals: the largest in each of BLOCKS blocks, or all if there are few totals."""
    if len(totals) <= 2 * BLOCKS:
        return np.arange(len(totals))
    length = len(totals) // BLOCKS
    blocks = totals[: BLOCKS * length].reshape(BLOCKS, length)
    best: Indices = blocks.argmax(axis=1) + np.arange(BLOCKS) * length
    return best
