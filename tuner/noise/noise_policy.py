# SPDX-License-Identifier: Apache-2.0
"""Interface of all noise policies, which use the measurements so far to choose points to measure again."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.search.search_method import Key, Observation, Told


@dataclass(frozen=True)
class Evaluation:
    """A trial that ended.

    `value`: the objective (lower is better), or None if the trial failed. `censored`: the trial was stopped, and
    `value` is a lower bound. `initial`: the point belongs to the initial design or is the default. `run_s`: the run
    time of the measured part in seconds, without time in the queue, if the run time is not the objective.
    """

    point: Parametrization
    value: float | None
    censored: bool = False
    initial: bool = False
    run_s: float | None = None


class Resampling(Protocol):
    """A noise policy. Its results depend only on the space, the budget, the seed and the arguments."""

    def again(
        self,
        history: Sequence[Evaluation],
        pending: Sequence[Parametrization] = (),
        stopped: int | None = None,
        budget: int | None = None,
    ) -> Parametrization | None:
        """Return the point to evaluate once more now, or None if the search should propose a point.

        `history`: the trials, in the order in which they ended. `pending`: the point of each running trial; a point
        with several running trials occurs several times. `stopped`: the number of trials when a stop rule other than
        the budget ended the search. From then on, there are no new points: repetitions that were begun are completed,
        and None means that the policy can choose the winner. `budget`: the total number of trials that are now
        possible, if it is less than the original budget.
        """

    def winner(self, history: Sequence[Evaluation]) -> Parametrization | None:
        """Return the point with the best mean, or None if nothing was measured.

        The returned point has at least two samples if any point has two, so that no point wins by one lucky run.
        """


def observed(history: Iterable[Evaluation], space: Space) -> dict[Key, Observation]:
    """Return the history grouped by canonical point, in the order in which each point's first trial ended."""
    told = Told(space)
    for evaluation in history:
        told.tell(evaluation.point, evaluation.value, evaluation.censored)
    return told.observations


def sound(observation: Observation) -> bool:
    """Return whether all runs of a point completed. A point that sometimes fails or is stopped must not win."""
    return bool(observation.values) and not observation.bounds and not observation.failures


def waiting(pending: Iterable[Parametrization], space: Space) -> Mapping[Key, int]:
    """Return the number of running trials of each point."""
    counts: dict[Key, int] = {}
    for point in pending:
        key = space.key(point)
        counts[key] = counts.get(key, 0) + 1
    return counts


def unconfirmed(known: Iterable[Observation], running: Mapping[Key, int], space: Space) -> Observation | None:
    """Return the point with the best raw mean if it ran only once, so that it can run again before it is rejected."""
    able = [observation for observation in known if sound(observation)]
    if not able:
        return None
    best = min(able, key=lambda observation: statistics.fmean(observation.values))
    return best if len(best.values) + running.get(space.key(best.point), 0) < 2 else None


def contenders(known: Iterable[Observation]) -> list[Observation]:
    """Return the points that may win: sound points with several samples or, if there are none, all sound points."""
    able = [observation for observation in known if sound(observation)]
    return [observation for observation in able if len(observation.values) > 1] or able


def winner(history: Sequence[Evaluation], space: Space) -> Parametrization | None:
    """Return the point with the best mean of at least two samples, or the first of several equal points.

    If no point has two samples, one is enough.
    """
    able = contenders(observed(history, space).values())
    return min(able, key=lambda observation: statistics.fmean(observation.values)).point if able else None
