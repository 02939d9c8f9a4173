# SPDX-License-Identifier: Apache-2.0
"""Cost of a problem's trials, and the number of further trials that its share of the node-hours pays for."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import cached_property

from reprise.database.entities import TrialRole
from reprise.tuner.definition.campaign_definition import Definition
from reprise.tuner.model.component import Problem
from reprise.tuner.model.trial_rows import FINAL, Rows, node_seconds
from reprise.tuner.search import grid_points


def least_searched(definition: Definition, problem: Problem) -> int:
    """Return the number of trials that a search needs for its result to be more than a guess.

    The number is the smallest of the size of the initial design, the budget, and the number of points other than the
    default.
    """
    fewest = min(definition.search.initial, definition.search.budget)
    if grid_points.is_listed(problem.space):
        fewest = min(fewest, max(1, len(problem.space.points) - 1))
    return fewest


def least_trials(definition: Definition, problem: Problem) -> int:
    """Return the number of trials that a problem needs: the default's runs, the shortest search and the final pairs."""
    repetitions = definition.repetitions
    pairs = repetitions.final_pairs + repetitions.confirm_pairs
    return repetitions.default_runs + least_searched(definition, problem) + 2 * pairs


def in_node_hours(node_s: float) -> str:
    """Return a positive number of node-seconds as node-hours with two significant digits, rounded up."""
    hours = node_s / 3600
    step = 10.0 ** (math.floor(math.log10(hours)) - 1)
    rounded = math.ceil(hours / step - 1e-9) * step
    return f"{rounded:.2g}" if rounded < 10 else f"{rounded:.0f}"


@dataclass(frozen=True)
class Costs:
    """Costs of a problem's trials.

    `allowance`: total node-seconds that the problem may use; None: unlimited. `final_pairs`: pairs of default and
    winner at the end, whose cost is reserved.
    """

    rows: Rows
    allowance: float | None
    final_pairs: int

    def allow_a_trial(self) -> bool:
        """Return whether the allowance pays for one more trial, if it costs as much as a run of the default.

        The cost of running trials and of the final pairs is reserved. The first trial always fits, since its cost is
        still unknown.
        """
        if self.allowance is None or (cost := self._of_one) is None:
            return True
        return self._searched + (self._reserved + 1) * cost <= self.allowance

    def allow_a_pair(self) -> bool:
        """Return whether the allowance pays for one more run each of the default and the winner."""
        if self.allowance is None or (cost := self._of_one) is None:
            return True
        return node_seconds(self.rows.rows) + 2 * cost <= self.allowance

    def trials_of_the_search(self, budget: int, begun: int) -> int:
        """Return the maximum total number of trials of the search.

        The maximum is the budget, or less if the allowance does not pay for the whole budget. `begun`: number of trials
        that the search has begun so far.
        """
        if self.allowance is None or not (cost := self._of_one):
            return budget
        left = math.floor((self.allowance - self._searched) / cost) - self._reserved
        return min(budget, begun + max(left, 0))

    def least(self, default_runs: int, searched: int) -> float:
        """Return the node-seconds of `default_runs` runs, `searched` trials of the search and the final pairs."""
        cost = self._of_one or 0.0
        return max(self._searched, default_runs * cost) + (searched + self._reserved) * cost

    @cached_property
    def _of_one(self) -> float | None:
        """Return the expected cost of a trial in node-seconds: the default's mean cost, or None if it is unknown."""
        costs = [node_seconds([row]) for row in self.rows.of(TrialRole.DEFAULT)]
        return statistics.fmean(costs) if costs else None

    @property
    def _reserved(self) -> int:
        """Return the number of trials whose cost is reserved: running trials and the final pairs."""
        return 2 * self.final_pairs + len(self.rows.pending)

    @cached_property
    def _searched(self) -> float:
        return node_seconds([row for row in self.rows.rows if row.role not in FINAL])
