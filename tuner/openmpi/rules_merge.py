# SPDX-License-Identifier: Apache-2.0
"""Merging of a campaign's rules with the rules that jobs already get, into one rules file.

A job gets only one rules file, so a campaign for more collectives or sizes takes over the results of earlier campaigns
for the same nodes and tasks. For each size of each collective, the file has the choice of the newest campaign that
measured that size. A choice applies up to the next size that any of the campaigns measured, just as within one
campaign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from reprise.database.entities import Measurement, Record
from reprise.database.gain_subject import BY_MEAN, RULES, TAKEN_OVER_BY_MEAN, WHOLE
from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import Comparison, Published
from reprise.tuner.openmpi.catalogue import compared_bytes
from reprise.tuner.openmpi.collective_spaces import DEFAULT
from reprise.tuner.openmpi.rules_compiler import Row

MEASURED = "measured"
"""Key in a record's parametrization, for the measured sizes of each collective, including sizes without a rule."""
RECORD = "record"
"""Key in a row of a record's `rules`, for the id of the earlier record whose campaign measured the row."""

Place: TypeAlias = tuple[object, object, object, object]
"""Cluster, nodes, tasks per node and placement of the jobs that a rules file applies to."""
Cell: TypeAlias = tuple[str, int]
"""A collective, and a message size in bytes as benchmarks report it."""
Known: TypeAlias = Callable[[str, int, str], bool]
"""Function that returns whether files for jobs may use an algorithm, given its collective, its id and its name.
"""


@dataclass(frozen=True)
class Standing:
    """Rules that jobs already get: the content of a record's rules file.

    `cells` maps each measured size to its row in the record's table, or to None if the size has no rule.
    """

    record: Record
    cells: Mapping[Cell, Mapping[str, Any] | None]


@dataclass(frozen=True)
class Merged:
    """Result of a merge.

    `rows` are the choices for the rules file by collective, `table` is the new record's table of choices, and `sizes`
    are all measured sizes by collective.
    """

    rows: dict[str, list[Row]]
    table: list[dict[str, Any]]
    sizes: dict[str, list[int]]


def place_of(context: Mapping[str, Any]) -> Place:
    """Return the cluster, nodes, tasks per node and placement of the jobs that a record's context describes."""
    tasks = context.get("tasks_per_node")
    placement = "core" if tasks == 1 else context.get("placement", "core")
    return context.get("cluster"), context.get("nodes"), tasks, placement


def standing(published: Sequence[Published], place: Place, releases: Collection[str], known: Known) -> list[Standing]:
    """Return the rules that jobs at `place` (see `Place`) already get, newest first.

    `releases` are the releases of Open MPI that jobs may load. A record that is not valid for all of them is left out,
    since its rules are not in effect. Raise TunerError if a record's rules cannot be taken over, since a new file would
    disable them.
    """
    in_effect = [
        one
        for one in published
        if place_of(one.record.context) == place and set(releases) <= set(one.record.context.get("openmpi", ()))
    ]
    newest_first = sorted(in_effect, key=lambda one: (one.record.created_at, one.record.id), reverse=True)
    return [_read(one, known) for one in newest_first]


def merge(
    rows: Mapping[str, Sequence[Row]], table: Sequence[dict[str, Any]], earlier: Sequence[Standing], ranks: int
) -> Merged:
    """Merge a campaign's `rows` (for every measured size) and `table` with the `earlier` rules, given newest first."""
    all_rows, all_choices = {name: list(of) for name, of in rows.items()}, list(table)
    taken = {(name, compared_bytes(name, row.size, ranks)) for name, of in rows.items() for row in of}
    for one in earlier:
        for (name, size), choice in one.cells.items():
            start = (name, compared_bytes(name, size, ranks))
            if start in taken:
                continue
            taken.add(start)
            all_rows.setdefault(name, []).append(_row(size, choice))
            if choice is not None:
                all_choices.append(_taken_over(choice, one))
    return Merged(all_rows, all_choices, {name: sorted(row.size for row in of) for name, of in all_rows.items()})


def comparison_of(row: Mapping[str, Any]) -> Comparison:
    """Return the original campaign's comparison for a row that was taken over from an earlier record."""
    default, tuned = Measurement(**row["default"]), Measurement(**row["tuned"])
    return Comparison(row["problem"], {}, default, tuned, row["gain"], row["gain_low"], row["gain_high"])


def _read(published: Published, known: Known) -> Standing:
    record = published.record
    try:
        rows = [dict(row) for row in record.parametrization[RULES]]
        choices = {_cell(row["problem"]): row for row in rows if row["applied"]}
        sizes = record.parametrization.get(MEASURED)
        cells = (
            {(name, int(size)) for name, of in sizes.items() for size in of}
            if sizes
            else {_cell(key) for key in published.problems if _is_of(key, record)}
        )
        strange = [
            row for (name, _), row in choices.items() if not known(name, row["algorithm"], row["algorithm_name"])
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _cannot(record, "its table cannot be read") from error
    if strange:
        raise _cannot(record, f"this Open MPI has no {strange[0]['algorithm_name']} that is safe for every job")
    if not set(choices) <= cells:
        raise _cannot(record, "the sizes that its campaign measured are unknown")
    return Standing(record, {cell: choices.get(cell) for cell in sorted(cells)})


def _cannot(record: Record, why: str) -> TunerError:
    return TunerError(
        f"record {record.id} has rules for the same nodes and tasks, which a new file would disable, and they cannot "
        f"be taken over: {why}: discard them with `reprise records retire {record.id}`"
    )


def _cell(problem: str) -> Cell:
    *_, collective, size = problem.split("/")
    return collective, int(size)


def _is_of(problem: str, record: Record) -> bool:
    """Return whether a problem has the record's layout; keys of problems name it only if a campaign has several."""
    layout = problem.split("/")[:-2]
    return layout in ([], [f"{record.context['nodes']}x{record.context['tasks_per_node']}"])


def _row(size: int, choice: Mapping[str, Any] | None) -> Row:
    point = choice or DEFAULT
    return Row(size, int(point["algorithm"]), int(point["fanout"]), int(point["segment"]))


def _taken_over(row: Mapping[str, Any], of: Standing) -> dict[str, Any]:
    """Return a row with the id of its record and with complete measurements.

    In records of older releases of Reprise, rows have means without bounds. The bounds are then derived from those of
    the whole record, whose relative width is assumed to be a row's relative width divided by the square root of the
    number of rows.
    """
    found = {RECORD: of.record.id, **row}
    if BY_MEAN in row and WHOLE not in row:
        found[TAKEN_OVER_BY_MEAN] = True
    for key, whole in (("default", of.record.default), ("tuned", of.record.tuned)):
        if key not in found:
            found[key] = asdict(
                _as_wide(float(row[f"{key}_s"]), whole, sum(one is not None for one in of.cells.values()))
            )
    return found


def _as_wide(mean: float, whole: Measurement, rows: int) -> Measurement:
    if not 0 < whole.low <= whole.mean <= whole.high:
        return Measurement(mean, mean, mean, 1, whole.unit)
    root = math.sqrt(rows)
    low, high = ((bound / whole.mean) ** root for bound in (whole.low, whole.high))
    return Measurement(mean, mean * low, mean * high, max(1, whole.n // rows), whole.unit)
