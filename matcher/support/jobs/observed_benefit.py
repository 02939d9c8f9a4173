# SPDX-License-Identifier: Apache-2.0
"""Report of what settings would have saved, for a site that only observes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from reprise.database.entities import Record
from reprise.database.for_support import SupportDatabase
from reprise.database.gain_subject import is_withdrawn, subject
from reprise.database.observed_jobs import ObservedClass
from reprise.matcher.benefit import record_benefit
from reprise.matcher.benefit.total_saving import summed
from reprise.matcher.support.explanation import HIDDEN
from reprise.matcher.support.staff import Reader

JSON_VERSION = 1
RUN_TIME, HELD_OUT = "run time", "run time, against held-out jobs"
OF_RECORDS = ("record", "component", "jobs", "node-hours", "measured gain", "of", "would have saved")
OF_CLASSES = ("user", "application", "nodes", "record", "jobs", "node-hours")
CLASSES = 20  # maximum number of classes of jobs in the text


@dataclass(frozen=True)
class RecordShare:
    """Jobs that would have got one record's settings, and the node-hours that they would have saved.

    `gain` to `gain_high` are the gain and the bounds of its 95 % interval, and `of` is their subject: the gain of jobs
    in production (HELD_OUT), that of the tuned job (RUN_TIME), or another quantity. `saved` to `high` are None if it is
    another one.
    """

    record: int
    component: str
    jobs: int
    ended: int
    node_hours: float
    gain: float
    gain_low: float
    gain_high: float
    of: str
    saved: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Observed:
    """The report: all decisions since `since` (Unix seconds), and the observed jobs by record and by class."""

    since: float
    decisions: int
    records: Sequence[RecordShare]
    classes: Sequence[ObservedClass]

    @property
    def jobs(self) -> int:
        """Number of jobs that would have got settings."""
        return sum(one.jobs for one in self.classes)

    @property
    def node_hours(self) -> float:
        """Node-hours of those of these jobs that have ended."""
        return sum(one.node_hours for one in self.classes)

    @property
    def known(self) -> Sequence[RecordShare]:
        """Records with an estimate of the node-hours that they would have saved."""
        return [one for one in self.records if one.saved is not None]

    @property
    def saved(self) -> tuple[float, float, float] | None:
        """Node-hours that would have been saved, with the bounds of the 95 % interval; None if unknown."""
        return summed((one.saved or 0.0, one.low or 0.0, one.high or 0.0) for one in self.known)


def read(database: SupportDatabase, since: float) -> Observed:
    """Return the report on the jobs since `since` (Unix seconds)."""
    classes = database.observed(since)
    decisions = sum(count for _, _, count in database.decisions_by_day(since))
    of_record: dict[int, list[ObservedClass]] = {}
    for one in classes:
        of_record.setdefault(one.record_id, []).append(one)
    shares = [_share(database, number, some) for number, some in of_record.items()]
    ordered = sorted(shares, key=lambda one: (one.saved is None, -(one.saved or 0.0), -one.node_hours, one.record))
    return Observed(since, decisions, ordered, classes)


def _share(database: SupportDatabase, number: int, classes: Sequence[ObservedClass]) -> RecordShare:
    jobs, ended = sum(one.jobs for one in classes), sum(one.ended for one in classes)
    hours = sum(one.node_hours for one in classes)
    record = database.record(number)
    gain, low, high, of = _gain(database, record)
    share = RecordShare(number, record.component, jobs, ended, hours, gain, low, high, of)
    if of not in (RUN_TIME, HELD_OUT):
        return share
    # These jobs ran without the settings, so a gain is a share of their own node-hours.
    return RecordShare(**{**asdict(share), "saved": hours * gain, "low": hours * low, "high": hours * high})


def _gain(database: SupportDatabase, record: Record) -> tuple[float, float, float, str]:
    """Return the gain to expect of a record and what it is of: of jobs in production if there were any."""
    found = record_benefit.measured(database.compared(record.id, since=record_benefit.since(record)))
    if found.gain is not None and found.low is not None and found.high is not None:
        return found.gain, found.low, found.high, HELD_OUT
    of = subject(record.parametrization)
    return record.gain, record.gain_low, record.gain_high, of or RUN_TIME


def texts(found: Observed) -> Iterator[str]:
    """Yield the lines above the tables."""
    since = f"{datetime.fromtimestamp(found.since).astimezone():%F %H:%M}"
    if not found.jobs:
        yield f"Since {since}, no job was observed that would have got settings ({found.decisions} decisions)."
        return
    share = f", {found.jobs / found.decisions:.0%} of {found.decisions} decisions" if found.decisions else ""
    ended = sum(one.ended for one in found.classes)
    yield f"Since {since}, {found.jobs} jobs would have got settings{share}. Nothing was set."
    yield f"{ended} of them have ended, after {found.node_hours:,.1f} node-hours."
    if saved := found.saved:
        best, low, high = saved
        hours = sum(one.node_hours for one in found.known)
        part = f" ({best / hours:.0%})" if hours else ""
        yield (
            f"The settings would have saved {best:,.1f} of {hours:,.1f} node-hours{part}, 95 %: {low:,.1f} to "
            f"{high:,.1f}, if these jobs gain as much as the jobs with which the records were measured."
        )
    unknown = [one for one in found.records if one.saved is None]
    if unknown:
        hours, jobs = sum(one.node_hours for one in unknown), sum(one.jobs for one in unknown)
        yield (
            f"Not estimated: {hours:,.1f} node-hours of {jobs} jobs, because the gain in run time of their records was "
            "not measured."
        )


def record_rows(found: Observed) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each record for the columns OF_RECORDS."""
    for one in found.records:
        gain = "" if is_withdrawn(one.of) else f"{one.gain:.1%} ({one.gain_low:.1%} to {one.gain_high:.1%})"
        saved = "unknown" if one.saved is None else f"{one.saved:,.1f} ({one.low:,.1f} to {one.high:,.1f})"
        yield str(one.record), one.component, str(one.jobs), f"{one.node_hours:,.1f}", gain, one.of, saved


def class_rows(found: Observed, reader: Reader) -> Iterator[tuple[str, ...]]:
    """Yield the cells of the first CLASSES classes of jobs for the columns OF_CLASSES."""
    for one in found.classes[:CLASSES]:
        user, application = (one.user, one.application or "unknown") if reader.sees(one.uid) else (HIDDEN, HIDDEN)
        nodes = "?" if one.nodes is None else str(one.nodes)
        yield user, application, nodes, str(one.record_id), str(one.jobs), f"{one.node_hours:,.1f}"


def document(found: Observed, reader: Reader) -> Mapping[str, Any]:
    """Return the report as JSON-ready data for programs. Within a version, keys are only added."""
    best, low, high = found.saved or (None, None, None)
    return {
        "version": JSON_VERSION,
        "since": found.since,
        "decisions": found.decisions,
        "jobs": found.jobs,
        "node_hours": found.node_hours,
        "measured_node_hours": sum(one.node_hours for one in found.known),
        "saved": best,
        "low": low,
        "high": high,
        "records": [asdict(one) for one in found.records],
        "classes": [_class(one, reader.sees(one.uid)) for one in found.classes],
    }


def _class(one: ObservedClass, seen: bool) -> dict[str, Any]:
    names = {"user": one.user, "uid": one.uid, "application": one.application} if seen else {}
    return {**asdict(one), **dict.fromkeys(("user", "uid", "application")), **names, "hidden": not seen}
