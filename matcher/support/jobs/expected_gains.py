# SPDX-License-Identifier: Apache-2.0
"""Estimation of a new record's gain, based on the records of similar jobs and on campaigns that found no gain."""

from __future__ import annotations

import statistics
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reprise.database.entities import UnmatchedClass
from reprise.database.for_support import SupportDatabase

if TYPE_CHECKING:
    from reprise.matcher.benefit.production_gain import Gain

PSEUDO_COUNT = 1.0
"""Weight, as a number of records, of the more general estimate in the average gain for a program or a user.

Thus the general estimate weighs as much as one record. For a program, the general estimate is the average for the user;
for a user, it is the gain expected of any record.
"""
ASSUMED_GAIN = 0.1
"""Gain that is assumed for a new record if there are no records from which to estimate it."""


@dataclass
class Circle:
    """Number of records with a common program or user, and the sum of their gains."""

    records: int = 0
    gain: float = 0.0

    def add(self, gain: float) -> None:
        """Add a record with this gain."""
        self.records += 1
        self.gain += gain

    def shrunk(self, wider: float, in_vain: int) -> float:
        """Return the mean gain, shrunk towards `wider`, the more general estimate (see PSEUDO_COUNT).

        The mean counts each of `in_vain` campaigns, which led to no record, as a gain of 0.
        """
        return (PSEUDO_COUNT * wider + self.gain) / (PSEUDO_COUNT + self.records + in_vain)


@dataclass
class Gains:
    """Gains of active records, as a list of all gains, and as sums by program (or job name) and by user.

    `in_vain` counts campaigns that ended without a record, by user and program. `in_production` is the number of
    records whose gain was measured in production, with held-out jobs.
    """

    every: array[float] = field(default_factory=lambda: array("d"))
    in_production: int = 0
    by_program: dict[str, Circle] = field(default_factory=dict)
    by_user: dict[str, Circle] = field(default_factory=dict)
    in_vain: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._vain_users: Counter[str] = Counter()
        self._vain_programs: Counter[str] = Counter()
        for (user, program), count in self.in_vain.items():
            self._vain_users[user] += count
            self._vain_programs[program] += count

    def judged(self, one: UnmatchedClass, of_all: float) -> UnmatchedClass:
        """Return the class with the expected gain of a record for it, and the numbers on which the estimate is based.

        `of_all` is the expected gain of a record for any class.
        """
        of_user = self.by_user.get(one.user, Circle())
        of_program = self.by_program.get(one.application, Circle()) if one.application else Circle()
        vain_user = self._vain_users[one.user]
        vain_program = self._vain_programs[one.application] if one.application else 0
        gain = of_program.shrunk(of_user.shrunk(of_all, vain_user), vain_program)
        in_vain = vain_user + vain_program - (self.in_vain[one.user, one.application] if one.application else 0)
        return replace(one, gain=gain, of_program=of_program.records, of_user=of_user.records, in_vain=in_vain)


def read(database: SupportDatabase, component: str | None, production: Mapping[int, Gain] | None = None) -> Gains:
    """Return active records' gains and counts of campaigns without a record, for one component or for all (None).

    `production` is the result of `in_production`, if already computed. Because a gain in a benchmark is not a gain of
    jobs, a record with a benchmark gain counts only if its gain in production is known.
    """
    production = in_production(database) if production is None else production
    found = Gains(in_vain=Counter(database.campaigns_in_vain(component)))
    for number, gain, user, program, of_run_time in database.gains_of_jobs(component):
        measured = production[number].gain if number in production else None
        if measured is None and not of_run_time:
            continue
        counted = gain if measured is None else measured
        found.in_production += measured is not None
        found.every.append(counted)
        for circles, name in ((found.by_program, program), (found.by_user, user)):
            if name not in circles:
                circles[name] = Circle()
            circles[name].add(counted)
    return found


def in_production(database: SupportDatabase) -> Mapping[int, Gain]:
    """Return, by record id, the gains in production of all records that have held-out jobs."""
    from reprise.matcher.benefit import record_benefit

    def measured(number: int) -> Gain:
        return record_benefit.measured(database.compared(number, since=record_benefit.since(database.record(number))))

    return {number: measured(number) for number in database.compared_records()}


def median(gains: array[float]) -> float:
    """Return the median of all gains; ASSUMED_GAIN if there are none."""
    return statistics.median(gains) if gains else ASSUMED_GAIN
