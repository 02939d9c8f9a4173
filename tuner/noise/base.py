# SPDX-License-Identifier: Apache-2.0
"""What every policy against noise is: told what was measured, it says which point to measure once more."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tuner.space import Parametrization, Space, Value

Key = tuple[Value, ...]


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

    def again(self, history: Sequence[Evaluation], pending: Sequence[Parametrization] = ()) -> Parametrization | None:
        """The point to evaluate once more now; None: ask the search. `history` in the order in which trials ended;
        `pending`: the points of the trials that run, one for each (so one point may be there twice)."""

    def winner(self, history: Sequence[Evaluation]) -> Parametrization | None:
        """The best point on average, never of a lucky run: with two samples at least where any point has two. None
        where nothing was measured."""


@dataclass
class Tally:
    """What is known of one point: its measured values, the bounds of its stopped runs, how many runs failed."""

    point: Parametrization
    initial: bool = False
    values: list[float] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)
    failed: int = 0

    @property
    def runs(self) -> int:
        return len(self.values) + len(self.bounds) + self.failed

    @property
    def sound(self) -> bool:
        """Whether every run came to its end: a point that fails or is stopped now and then is nobody's optimum."""
        return bool(self.values) and not self.bounds and not self.failed

    def mean(self) -> float:
        return statistics.fmean(self.values)


def tallies(history: Iterable[Evaluation], space: Space) -> dict[Key, Tally]:
    """The history by canonical point, in the order in which the points first ended."""
    found: dict[Key, Tally] = {}
    for evaluation in history:
        tally = found.setdefault(
            space.key(evaluation.point), Tally(space.canonical(evaluation.point), evaluation.initial)
        )
        if evaluation.value is None:
            tally.failed += 1
        else:
            (tally.bounds if evaluation.censored else tally.values).append(evaluation.value)
    return found


def waiting(pending: Iterable[Parametrization], space: Space) -> Mapping[Key, int]:
    """How many trials of each point are running."""
    counts: dict[Key, int] = {}
    for point in pending:
        key = space.key(point)
        counts[key] = counts.get(key, 0) + 1
    return counts


def contenders(known: Collection[Tally]) -> list[Tally]:
    """The points of which one may be the winner: sound ones with two samples; where none has two, those with one."""
    sound = [tally for tally in known if tally.sound]
    return [tally for tally in sound if len(tally.values) > 1] or sound


def winner(history: Sequence[Evaluation], space: Space) -> Parametrization | None:
    """The point with the best mean of at least two samples (of one where no point has two); the first of equals."""
    able = contenders(tallies(history, space).values())
    return min(able, key=Tally.mean).point if able else None
