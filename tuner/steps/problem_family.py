# SPDX-License-Identifier: Apache-2.0
"""Other problems of a problem's family. The search for the problem also learns from their trials."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from reprise.database.entities import Trial, TrialRole, TrialState
from reprise.tuner.model.component import Problem
from reprise.tuner.model.trial_rows import Rows
from reprise.tuner.search.shared_process import Evaluated, Relative


@dataclass(frozen=True)
class Kin:
    """Another problem of the family, with its trials."""

    problem: Problem
    trials: Sequence[Trial]

    @property
    def searched(self) -> int:
        """Return the number of evaluations of the problem's search."""
        return len(Rows(self.trials).of(TrialRole.SEARCH))

    def relative(self) -> Relative:
        """Return the problem's context and evaluations; there are no evaluations if the default has no value yet."""
        rows = Rows(self.trials)
        defaults = [row.value for row in rows.of(TrialRole.DEFAULT) if row.value is not None]
        if not defaults:
            return Relative(self.problem.context)
        reference = statistics.fmean(defaults)
        common = self.problem.common
        searched = [
            Evaluated(common(row.parametrization), row.value and row.value / reference, row.state is TrialState.PRUNED)
            for row in rows.of(TrialRole.SEARCH)
        ]
        known = [Evaluated(common(self.problem.default), value / reference) for value in defaults]
        return Relative(self.problem.context, [*known, *searched])
