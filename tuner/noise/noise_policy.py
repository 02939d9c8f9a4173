# SPDX-License-Identifier: Apache-2.0
"""What every policy against noise is: told what was measured, it says which point to measure once more."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.search.search_method import Key, Observation, Told


@dataclass(frozen=True)
class Evaluation:
    """One trial that ended. `value`: the objective, lower is better; None where it failed. `censored`: it was stopped,
    and `value` is a lower bound. `initial`: its point belongs to the initial design or is the default. `run_s`: the run
    time of the measured part in seconds, where that is not the objective itself; never time in the queue."""

    point: Parametrization
    value: float | None
    censored: bool = False
    initial: bool = False
    run_s: float | None = None


class Resampling(Protocol):
    """A policy. Deterministic: both answers depend on the space, the budget, the seed and the arguments only."""

    def again(
        self,
        history: Sequence[Evaluation],
        pending: Sequence[Parametrization] = (),
        stopped: int | None = None,
        budget: int | None = None,
    ) -> Parametrization | None:
        """The point to evaluate once more now; None: ask the search. `history` in the order in which trials ended;
        `pending`: the points of the trials that run, one for each (so one point may be there twice).

        `stopped`: how many trials there were when a stop rule other than the budget ended the search. From then on
        there are no new points, and None says that the winner can be named: what was begun is repeated to its end.
        `budget`: how many trials there can be in all by now, where that is less than was said at first."""

    def winner(self, history: Sequence[Evaluation]) -> Parametrization | None:
        """The best point on average, never of a lucky run: with two samples at least where any point has two. None
        where nothing was measured."""


def observed(history: Iterable[Evaluation], space: Space) -> dict[Key, Observation]:
    """The history by canonical point, in the order in which the points first ended."""
    told = Told(space)
    for evaluation in history:
        told.tell(evaluation.point, evaluation.value, evaluation.censored)
    return told.observations


def sound(observation: Observation) -> bool:
    """Whether every run came to its end: a point that fails or is stopped now and then is nobody's optimum."""
    return bool(observation.values) and not observation.bounds and not observation.failures


def waiting(pending: Iterable[Parametrization], space: Space) -> Mapping[Key, int]:
    """How many trials of each point are running."""
    counts: dict[Key, int] = {}
    for point in pending:
        key = space.key(point)
        counts[key] = counts.get(key, 0) + 1
    return counts


def unconfirmed(known: Iterable[Observation], running: Mapping[Key, int], space: Space) -> Observation | None:
    """The point with the best raw mean, where that is of one run: it is run again before it is given up."""
    able = [observation for observation in known if sound(observation)]
    if not able:
        return None
    best = min(able, key=lambda observation: statistics.fmean(observation.values))
    return best if len(best.values) + running.get(space.key(best.point), 0) < 2 else None


def contenders(known: Iterable[Observation]) -> list[Observation]:
    """The points of which one may be the winner: sound ones with two samples; where none has two, those with one."""
    able = [observation for observation in known if sound(observation)]
    return [observation for observation in able if len(observation.values) > 1] or able


def winner(history: Sequence[Evaluation], space: Space) -> Parametrization | None:
    """The point with the best mean of at least two samples (of one where no point has two); the first of equals."""
    able = contenders(observed(history, space).values())
    return min(able, key=lambda observation: statistics.fmean(observation.values)).point if able else None
