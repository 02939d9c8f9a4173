# SPDX-License-Identifier: Apache-2.0
"""Final comparison of the winner with the default, by pairs of runs in random order, and the result of a campaign.

The winner is the best of many points that ran once, so chance has probably helped it. If its pairs show no gain, the
runner-up is compared with the default. All pairs of a session may favor one setting, because of the session's nodes or
of other jobs. A winner that seems better is therefore compared once more in a second session, if the definition has
one. If all trials are steps of one job, the winner must already be better beyond noise in the first session. If each
trial is a job, the pairs of both sessions count together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reprise.database.entities import TrialRole, TrialState
from reprise.tuner.model.component import Comparison
from reprise.tuner.model.space import Parametrization
from reprise.tuner.model.statistics import DRIFT, gain_of_jobs, gain_of_sessions, measurement, paired_gain
from reprise.tuner.model.trial_rows import FINAL, objected
from reprise.tuner.steps.costs import Costs
from reprise.tuner.steps.problem_evidence import Evidence
from reprise.tuner.steps.step import Done, Later, ProblemResult, Start, Step

FEWEST = 2  # minimum number of pairs for a conclusion
FAILED = "the best parametrization failed when it was run again"
TOO_FEW = "too few of the final runs succeeded"
NO_ROOM = "the remaining node-hours are too few for a comparison"
SECOND = "in the second session"
UNCONFIRMED = "the second session did not confirm it"


@dataclass(frozen=True)
class Pairs:
    """Pairs of runs of the default and of a point.

    `values` holds the pairs in which both runs have a value. `note` is the reason why the pairs allow no conclusion.
    `cut`: the node-hours did not pay for all pairs. `end`: if the point failed, the number of pairs up to the failed
    one, counted from the first pair of the comparison.
    """

    values: Sequence[tuple[float, float]]
    note: str = ""
    cut: bool = False
    end: int = 0

    @property
    def is_open(self) -> bool:
        """Return whether the point seems better, but the difference may be noise."""
        if len(self.values) < FEWEST:
            return self.note != FAILED
        gain, low, _ = paired_gain(*zip(*self.values, strict=True))
        return not self.note and low <= 0 < gain

    @property
    def is_refuted(self) -> bool:
        """Return whether the point does not even seem better."""
        return not self.note and paired_gain(*zip(*self.values, strict=True))[0] <= 0

    def leaves_pairs(self, count: int) -> bool:
        """Return whether the point failed so early that the rest of `count` pairs is enough for another point."""
        return self.note == FAILED and count - self.end >= FEWEST

    def is_good(self, own_jobs: bool) -> bool:
        """Return whether the point is better beyond noise.

        With `own_jobs` (each run is a separate job), a gain of more than DRIFT suffices.
        """
        if self.note:
            return False
        gain, low, _ = paired_gain(*zip(*self.values, strict=True))
        return low > 0 or (own_jobs and gain > DRIFT)


@dataclass(frozen=True)
class Comparing:
    """The final comparison of a problem.

    `winner`: the search's winner, or None if no point beat the default. `runner_up`: function that returns the winner
    of the search if the original winner is excluded. `stopped`: why the search ended. `session`: number of the current
    session, 1 or 2. If a session leaves open whether the point is better, `more_pairs` are added, but in only one of
    the two sessions. If the first comparison refutes the winner, the runner-up gets these additional pairs. If the
    winner fails, the runner-up gets the rest of the first pairs. With two tests at 2.5 % each, at most 5 % of the
    points that are no better than the default are accepted.
    """

    evidence: Evidence
    costs: Costs
    seed: int
    winner: Parametrization | None
    runner_up: Callable[[], Parametrization | None]
    stopped: str
    session: int = 1

    def step(self) -> Step:
        """Return the next run that the comparison needs or, at the end, the problem's result."""
        if self.winner is None:
            return self._done(None, "no parametrization beat the default")
        repetitions = self.evidence.definition.repetitions
        first, most = repetitions.final_pairs, repetitions.final_pairs + repetitions.more_pairs
        point, found, end = self.winner, self._pairs(self.winner, range(first)), first
        if isinstance(found, Pairs) and found.is_open:
            found, end = self._pairs(point, range(most)), most
        elif isinstance(found, Pairs) and found.is_refuted and most - first >= FEWEST and (other := self.runner_up()):
            of_other = self._pairs(other, range(first, most))
            if isinstance(of_other, Start) or not of_other.note:
                point, found, end = other, of_other, most
        elif isinstance(found, Pairs) and found.leaves_pairs(first) and (other := self.runner_up()):
            point, found = other, self._pairs(other, range(found.end, first))
        if isinstance(found, Start):
            return found
        if repetitions.confirm_pairs and found.is_good(self._own_jobs):
            return self._confirmed(point, found, range(end, end + repetitions.confirm_pairs), most - end)
        return self._done(None if found.note else self._of([found.values], point), found.note)

    def _confirmed(self, point: Parametrization, before: Pairs, numbers: range, more: int) -> Step:
        """Return the second session's next run, or the result of both sessions.

        In session 1, return `Later` instead. If the result is open, `more` additional pairs run before it is returned.
        """
        if before.cut:
            return self._done(None, f"{NO_ROOM} {SECOND}")
        if self.session == 1:
            rows = self.evidence.rows
            final = [row for row in (*rows.ended, *rows.pending) if row.role in FINAL]
            return Later(begun=len(final) > 2 * numbers.start)
        found = self._pairs(point, numbers)
        if isinstance(found, Start):
            return found
        if found.note:
            return self._done(None, f"{found.note} {SECOND}")
        comparison = self._of([before.values, found.values], point)
        if more and not found.cut and comparison.gain_low <= 0 < comparison.gain:
            return self._confirmed(point, before, range(numbers.start, numbers.stop + more), 0)
        return self._done(comparison, "" if comparison.gain_low > 0 else UNCONFIRMED)

    @property
    def _own_jobs(self) -> bool:
        """Return whether each run is a separate job; otherwise the runs of a session share one job, with its nodes."""
        return self.evidence.definition.executor.kind != "allocation"

    def _pairs(self, point: Parametrization, numbers: range) -> Pairs | Start:
        """Return the next run that the pairs with these numbers need, or the pairs so far if there is no next run."""
        points = {TrialRole.FINAL_DEFAULT: self.evidence.problem.default, TrialRole.FINAL_TUNED: point}
        ended = [self.evidence.rows.of(role) for role in points]
        orders = np.random.default_rng([self.seed, 1]).random(numbers.stop)
        values: list[tuple[float, float]] = []
        for number in numbers:
            missing = [role for role, of in zip(points, ended, strict=True) if len(of) <= number]
            if len(missing) == 2 and not self.costs.allow_a_pair():
                return Pairs(values, NO_ROOM if len(values) < FEWEST else "", cut=True)
            if missing:
                role = missing[0] if orders[number] >= 0.5 else missing[-1]
                return Start(role, points[role])
            default, tuned = (of[number] for of in ended)
            if tuned.value is None and (default.value is not None or objected(tuned)):
                return Pairs(values, FAILED, end=number + 1)
            if default.value is not None and tuned.value is not None:
                values.append((default.value, tuned.value))
        return Pairs(values, TOO_FEW if len(values) < FEWEST else "")

    def _of(self, sessions: Sequence[Sequence[tuple[float, float]]], winner: Parametrization) -> Comparison:
        apart = [tuple(zip(*pairs, strict=True)) for pairs in sessions]
        unit = self.evidence.default.unit
        default, tuned = (measurement([value for one in apart for value in one[side]], unit) for side in (0, 1))
        estimate = gain_of_jobs if self._own_jobs else gain_of_sessions
        gain = estimate([(defaults, of_winner) for defaults, of_winner in apart])
        return Comparison(self.evidence.problem.key, winner, default, tuned, *gain)

    def _done(self, comparison: Comparison | None, note: str) -> Done:
        ended = self.evidence.rows.ended
        failed = sum(row.value is None for row in ended)
        pruned = sum(row.state is TrialState.PRUNED for row in ended)
        key, default = self.evidence.problem.key, self.evidence.default
        return Done(ProblemResult(key, default, self.stopped, len(ended), failed, comparison, note, pruned))
