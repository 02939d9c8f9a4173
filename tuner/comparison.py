# SPDX-License-Identifier: Apache-2.0
"""The end of a campaign: default and winner in turn, in random order within each pair, and what comes of that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from database.model import TrialRole, TrialState
from tuner.component import Comparison
from tuner.costs import Costs
from tuner.evidence import Evidence
from tuner.space import Parametrization
from tuner.statistics import measurement, paired_gain
from tuner.step import Done, ProblemResult, Start, Step

FEWEST = 2  # pairs that say anything


@dataclass(frozen=True)
class Comparing:
    """`winner`: of the search; None: no point beat the default. `stopped`: why the search ended."""

    evidence: Evidence
    costs: Costs
    seed: int
    winner: Parametrization | None
    stopped: str

    def step(self) -> Step:
        """The next run of a pair where none is under way; in the end the problem's result."""
        if self.winner is None:
            return self._done(None, "no parametrization beat the default")
        repetitions = self.evidence.definition.repetitions
        first, most = repetitions.final_pairs, repetitions.final_pairs + repetitions.more_pairs
        points = {TrialRole.FINAL_DEFAULT: self.evidence.problem.default, TrialRole.FINAL_TUNED: self.winner}
        defaults, tuned = (self.evidence.rows.of(role) for role in points)
        rng = np.random.default_rng([self.seed, 1])
        pairs: list[tuple[float, float]] = []
        for number in range(most):
            if number == first and not _is_open(pairs):
                break
            roles = list(points) if rng.random() >= 0.5 else list(points)[::-1]
            done = {TrialRole.FINAL_DEFAULT: len(defaults) > number, TrialRole.FINAL_TUNED: len(tuned) > number}
            if all(done.values()):
                before, after = defaults[number].value, tuned[number].value
                if before is not None and after is None:
                    return self._done(None, "the best parametrization failed when it was run again")
                if before is not None and after is not None:
                    pairs.append((before, after))
                continue
            if not any(done.values()) and not self.costs.allow_a_pair():
                break
            role = next(role for role in roles if not done[role])
            return Start(role, points[role])
        if len(pairs) < FEWEST:
            why = "too few of the final runs succeeded"
            return self._done(None, why if len(defaults) >= first else "the node-hours left no room for a comparison")
        return self._done(self._of(pairs, self.winner), "")

    def _of(self, pairs: list[tuple[float, float]], winner: Parametrization) -> Comparison:
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


def _is_open(pairs: list[tuple[float, float]]) -> bool:
    """Whether the winner seems to be better and this may be noise. Then it is looked at once more, with all pairs: with
    two looks at 2.5 % each, of winners that are no better at most 5 % are taken for better."""
    if len(pairs) < FEWEST:
        return True
    gain, low, _ = paired_gain(*zip(*pairs, strict=True))
    return low <= 0 < gain
