# SPDX-License-Identifier: Apache-2.0
"""Interpretation of a problem's trials: which rows count, in which order, and what they cost."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from reprise.database.entities import Trial, TrialRole, TrialState

OPEN = frozenset((TrialState.PLANNED, TrialState.RUNNING))
# States of trials that say nothing about the parametrization.
INTERRUPTED = frozenset((TrialState.PREEMPTED, TrialState.CANCELLED))
OBJECTION = "not in effect: "
"""Prefix of the message of a trial that ran without its settings."""
FINAL = frozenset((TrialRole.FINAL_DEFAULT, TrialRole.FINAL_TUNED))


@dataclass(frozen=True)
class Rows:
    """Trials of one problem, with selections by state and role."""

    rows: Sequence[Trial]

    @cached_property
    def ended(self) -> Sequence[Trial]:
        """Trials that ended, except interrupted ones, in the order of their ends."""
        said = [row for row in self.rows if row.state not in OPEN | INTERRUPTED]
        return sorted(said, key=lambda row: row.ordinal or 0)

    @cached_property
    def pending(self) -> Sequence[Trial]:
        """Trials that are planned or running."""
        return [row for row in self.rows if row.state in OPEN]

    def of(self, role: TrialRole) -> Sequence[Trial]:
        """Return the ended trials that have this role."""
        return [row for row in self.ended if row.role is role]

    def waiting(self, role: TrialRole) -> Sequence[Trial]:
        """Return the planned or running trials that have this role."""
        return [row for row in self.pending if row.role is role]

    @cached_property
    def final(self) -> bool:
        """Whether the final comparison has begun."""
        return any(row.role in FINAL for row in self.rows)


def objected(row: Trial) -> bool:
    """Return whether a trial failed because its settings were not in effect, rather than because of the machine."""
    return row.state is TrialState.FAILED and row.message.startswith(OBJECTION)


def measured(rows: Sequence[Trial]) -> Sequence[Trial]:
    """Return the trials that ran to their end without an error (state COMPLETE)."""
    return [row for row in rows if row.state is TrialState.COMPLETE]


def node_seconds(rows: Sequence[Trial]) -> float:
    """Return the cost of all trials that ran, whatever their result: the sum of run time times nodes."""
    return sum((row.elapsed_s or 0.0) * row.nodes for row in rows)


def best_gain(rows: Sequence[Trial]) -> float | None:
    """Return the gain of the best searched point over the default's mean so far; None if either is missing."""
    known = Rows(rows)
    defaults = [row.value for row in known.of(TrialRole.DEFAULT) if row.value is not None]
    searched = [row.value for row in measured(known.of(TrialRole.SEARCH)) if row.value is not None]
    return 1 - min(searched) / statistics.fmean(defaults) if defaults and searched else None
