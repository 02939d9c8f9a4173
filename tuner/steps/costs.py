# SPDX-License-Identifier: Apache-2.0
"""What a problem's trials cost, and how many more its share of the node-hours pays for."""

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
    """Count the trials below which a search is a guess: its initial design, or all points but the default."""
    fewest = min(definition.search.initial, definition.search.budget)
    if grid_points.is_listed(problem.space):
        fewest = min(fewest, max(1, len(problem.space.points) - 1))
    return fewest


def least_trials(definition: Definition, problem: Problem) -> int:
    """Count the trials that a problem needs: the default's runs, the shortest search and the final pairs."""
    repetitions = definition.repetitions
    pairs = repetitions.final_pairs + repetitions.confirm_pairs
    return repetitions.default_runs + least_searched(definition, problem) + 2 * pairs


def in_node_hours(node_s: float) -> str:
    """Node-seconds over 0 as node-hours of two digits, rounded up so that they are enough."""
    hours = node_s / 3600
    step = 10.0 ** (math.floor(math.log10(hours)) - 1)
    rounded = math.ceil(hours / step - 1e-9) * step
    return f"{rounded:.2g}" if rounded < 10 else f"{rounded:.0f}"


@dataclass(frozen=True)
class Costs:
    """`allowance`: node-seconds that the problem may take in all; None: as many as it likes. `final_pairs`: of default
    and winner, which are to be paid for in the end."""

    rows: Rows
    allowance: float | None
    final_pairs: int

    def allow_a_trial(self) -> bool:
        """Whether one as long as the default's still fits into the allowance, what runs and the final pairs included.

        The first trial always does: what one costs is not known before.
        """
        if self.allowance is None or (cost := self._of_one) is None:
            return True
        return self._searched + (self._reserved + 1) * cost <= self.allowance

    def allow_a_pair(self) -> bool:
        """Whether default and winner can be run once more each."""
        if self.allowance is None or (cost := self._of_one) is None:
            return True
        return node_seconds(self.rows.rows) + 2 * cost <= self.allowance

    def trials_of_the_search(self, budget: int, begun: int) -> int:
        """How many trials the search can have in all: its budget, or those begun and what there is room for."""
        if self.allowance is None or not (cost := self._of_one):
            return budget
        left = math.floor((self.allowance - self._searched) / cost) - self._reserved
        return min(budget, begun + max(left, 0))

    def least(self, default_runs: int, searched: int) -> float:
        """Node-seconds that pay for so many runs of the default and trials of the search, and for the final pairs."""
        cost = self._of_one or 0.0
        return max(self._searched, default_runs * cost) + (searched + self._reserved) * cost

    @cached_property
    def _of_one(self) -> float | None:
        """Of a trial, in node-seconds, as the default's; None: not known yet."""
        costs = [node_seconds([row]) for row in self.rows.of(TrialRole.DEFAULT)]
        return statistics.fmean(costs) if costs else None

    @property
    def _reserved(self) -> int:
        """Trials that are to be paid for besides: those that run, and the final pairs."""
        return 2 * self.final_pairs + len(self.rows.pending)

    @cached_property
    def _searched(self) -> float:
        return node_seconds([row for row in self.rows.rows if row.role not in FINAL])
