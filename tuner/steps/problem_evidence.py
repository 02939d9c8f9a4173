# SPDX-License-Identifier: Apache-2.0
"""Evidence from a problem's trials about the default and the points of the search."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from reprise.database.entities import Measurement, Trial, TrialRole, TrialState
from reprise.tuner.definition.campaign_definition import Definition
from reprise.tuner.model.component import Problem
from reprise.tuner.model.space import Parametrization
from reprise.tuner.model.statistics import measurement
from reprise.tuner.model.trial_rows import Rows, measured
from reprise.tuner.noise import Evaluation
from reprise.tuner.steps import default_runs


@dataclass(frozen=True)
class Evidence:
    """Evidence from the trials of a problem; `rows` contains these trials."""

    definition: Definition
    problem: Problem
    rows: Rows

    @cached_property
    def defaults(self) -> Sequence[Trial]:
        """Return the default's runs before the search that have a value."""
        runs = default_runs.chosen(self.rows.of(TrialRole.DEFAULT), self.definition.repetitions.default_runs)
        return [row for row in runs if row.value is not None]

    @cached_property
    def default(self) -> Measurement:
        """Return the mean of the default's runs with its bounds; there must be at least one run."""
        return measurement([row.value or 0.0 for row in self.defaults], self.defaults[0].unit)

    @cached_property
    def history(self) -> Sequence[Evaluation]:
        """Return the search's trials.

        The value of a pruned trial is a lower bound of the objective in two cases: if the objective is the run time,
        that is, if both are equal in all runs of the default; and in a round, where the limit applies to the objective
        itself. In all other cases, a pruned trial has no value, and only counts as too slow.
        """
        initial = self._initial
        times = bool(self.problem.round) or all(row.value == row.elapsed_s for row in self.defaults)
        result = []
        for row in self.rows.of(TrialRole.SEARCH):
            bound = row.state is TrialState.PRUNED
            value = row.value if not bound or times else None
            key = self.problem.space.key(row.parametrization)
            result.append(
                Evaluation(
                    row.parametrization, value, bound and times, key in initial, None if times else row.elapsed_s
                )
            )
        return result

    @cached_property
    def pending(self) -> Sequence[Parametrization]:
        """Return the points of the search's running trials."""
        return [row.parametrization for row in self.rows.waiting(TrialRole.SEARCH)]

    def mean(self, point: Parametrization) -> float | None:
        """Return the mean that the search measured for a point; None if it has no value."""
        key = self.problem.space.key(point)
        values = [
            row.value
            for row in measured(self.rows.of(TrialRole.SEARCH))
            if row.value is not None and self.problem.space.key(row.parametrization) == key
        ]
        return statistics.fmean(values) if values else None

    @cached_property
    def _initial(self) -> set[object]:
        """Return the keys of the first points that were begun, up to the size of the initial design."""
        keys = [
            self.problem.space.key(row.parametrization)
            for row in sorted(self.rows.rows, key=lambda row: row.number)
            if row.role is TrialRole.SEARCH
        ]
        return set(list(dict.fromkeys(keys))[: self.definition.search.initial])
