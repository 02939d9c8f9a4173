# SPDX-License-Identifier: Apache-2.0
"""The end of a campaign: default and winner in turn, in random order within each pair, and what comes of that.

The best of many points that were run once was lucky as well: where the pairs refute it, the runner-up is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reprise.database.entities import TrialRole, TrialState
from reprise.tuner.model.component import Comparison
from reprise.tuner.model.space import Parametrization
from reprise.tuner.model.statistics import measurement, paired_gain
from reprise.tuner.steps.costs import Costs
from reprise.tuner.steps.problem_evidence import Evidence
from reprise.tuner.steps.step import Done, ProblemResult, Start, Step

FEWEST = 2  # pairs that say anything
FAILED = "the best parametrization failed when it was run again"
TOO_FEW = "too few of the final runs succeeded"
NO_ROOM = "the node-hours left no room for a comparison"


@dataclass(frozen=True)
class Pairs:
    """`values`: of the default and of the point, of pairs in which both have one. `note`: why they say nothing."""

    values: Sequence[tuple[float, float]]
    note: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the point seems to be better and this may be noise."""
        if len(self.values) < FEWEST:
            return self.note != FAILED
        gain, low, _ = paired_gain(*zip(*self.values, strict=True))
        return not self.note and low <= 0 < gain

    @property
    def is_refuted(self) -> bool:
        """Whether the point does not even seem to be better."""
        return not self.note and paired_gain(*zip(*self.values, strict=True))[0] <= 0


@dataclass(frozen=True)
class Comparing:
    """`winner`: of the search; None: no point beat the default. `runner_up`: tells which point would be the winner
    without it. `stopped`: why the search ended.

    Where it is open, the winner is looked at once more, with all pairs; where it is refuted, the runner-up has the
    pairs that are left. With two looks at 2.5 % each, of points that are no better at most 5 % are taken for better.
    """

    evidence: Evidence
    costs: Costs
    seed: int
    winner: Parametrization | None
    runner_up: Callable[[], Parametrization | None]
    stopped: str

    def step(self) -> Step:
        """The next run of a pair where none is under way; in the end the problem's result."""
        if self.winner is None:
            return self._done(None, "no parametrization beat the default")
        repetitions = self.evidence.definition.repetitions
        first, most = repetitions.final_pairs, repetitions.final_pairs + repetitions.more_pairs
        point, found = self.winner, self._pairs(self.winner, range(first))
        if isinstance(found, Pairs) and found.is_open:
            found = self._pairs(point, range(most))
        elif isinstance(found, Pairs) and found.is_refuted and most - first >= FEWEST and (other := self.runner_up()):
            of_other = self._pairs(other, range(first, most))
            if isinstance(of_other, Start) or not of_other.note:
                point, found = other, of_other
        if isinstance(found, Start):
            return found
        return self._done(None if found.note else self._of(found.values, point), found.note)

    def _pairs(self, point: Parametrization, numbers: range) -> Pairs | Start:
        """The pairs of these numbers, as far as they can be paid for, or the next run that they need."""
        points = {TrialRole.FINAL_DEFAULT: self.evidence.problem.default, TrialRole.FINAL_TUNED: point}
        ended = [self.evidence.rows.of(role) for role in points]
        orders = np.random.default_rng([self.seed, 1]).random(numbers.stop)
        values: list[tuple[float, float]] = []
        for number in numbers:
            missing = [role for role, of in zip(points, ended, strict=True) if len(of) <= number]
            if len(missing) == 2 and not self.costs.allow_a_pair():
                return Pairs(values, NO_ROOM if len(values) < FEWEST else "")
            if missing:
                role = missing[0] if orders[number] >= 0.5 else missing[-1]
                return Start(role, points[role])
            before, after = (of[number].value for of in ended)
            if before is not None and after is None:
                return Pairs(values, FAILED)
            if before is not None and after is not None:
                values.append((before, after))
        return Pairs(values, TOO_FEW if len(values) < FEWEST else "")

    def _of(self, pairs: Sequence[tuple[float, float]], winner: Parametrization) -> Comparison:
        defaults, tuned = zip(*pairs, strict=True)
        unit = self.evidence.default.unit
        means = measurement(defaults, unit), measurement(tuned, unit)
        return Comparison(self.evidence.problem.key, winner, *means, *paired_gain(defaults, tuned))

    def _done(self, comparison: Comparison | None, note: str) -> Done:
        ended = self.evidence.rows.ended
        failed = sum(row.value is None for row in ended)
        pruned = sum(row.state is TrialState.PRUNED for row in ended)
        key, default = self.evidence.problem.key, self.evidence.default
        return Done(ProblemResult(key, default, self.stopped, len(ended), failed, comparison, note, pruned))
