# SPDX-License-Identifier: Apache-2.0
"""What a campaign does next, from its definition and its trials so far alone: nothing else is ever remembered.

For each problem the default, the search, and the winner against the default. A `Solver` is asked whenever there is
room for another trial; what runs is in the rows as well. So a campaign goes on after any interruption by being asked
again, and it does not matter which trial ended or was lost meanwhile.
"""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from database.model import Measurement, Trial, TrialRole, TrialState
from tuner import noise, pruning
from tuner.campaign import Definition
from tuner.component import Comparison, Problem
from tuner.noise import Evaluation
from tuner.rows import FINAL, Rows, measured, node_seconds
from tuner.search.shared import Evaluated, Relative, SharedSearch
from tuner.search.stopping import Progress
from tuner.space import Parametrization
from tuner.statistics import measurement, paired_gain

FAILURES_IN_A_ROW = 10


@dataclass(frozen=True)
class ProblemResult:
    """What came of a problem: the default before the search, why the search stopped, and the final comparison.

    `note` says why there is no comparison. `trials` counts all that ended by themselves, `failed` those without a
    value, `pruned` those that were stopped early.
    """

    problem: str
    default: Measurement
    stopped: str
    trials: int
    failed: int
    comparison: Comparison | None = None
    note: str = ""
    pruned: int = 0


@dataclass(frozen=True)
class Kin:
    """Another problem of the family, with its trials."""

    problem: Problem
    rows: Sequence[Trial]


@dataclass(frozen=True)
class Start:
    """Start a trial, to be stopped after `limit_s` of run time; None: the campaign's own limit.

    Of a problem that is in a round, `limit_s` is the objective's, and the rest of the run goes on.
    """

    role: TrialRole
    point: Parametrization
    limit_s: float | None = None


@dataclass(frozen=True)
class Wait:
    """Nothing can be started before something that runs has ended."""


@dataclass(frozen=True)
class Done:
    result: ProblemResult


@dataclass(frozen=True)
class Failed:
    """Nothing can come of the campaign: because of this trial. `what` says it, without that trial's words."""

    what: str
    trial: Trial


Step = Start | Wait | Done | Failed


class Solver:
    """Says what to do next for one problem. What it keeps beside definition and problem only makes it quick."""

    def __init__(self, definition: Definition, problem: Problem) -> None:
        self._definition = definition
        self._problem = problem
        section, budget = definition.noise, definition.search.budget
        seed = seed_of(definition, problem)
        self._resampling = noise.build(section.policy, problem.space, budget, seed, **section.settings)
        self._stops = _Stops()

    def next_step(self, rows: Sequence[Trial], allowance: float | None = None, kin: Sequence[Kin] = ()) -> Step:
        """The next step where `rows` are the problem's trials; `allowance`: node-seconds that it may take in all."""
        known = Rows(rows)
        if step := _machine_is_bad(self._problem, known):
            return step
        state = _Solving(self._definition, self._problem, self._resampling, self._stops, known, allowance, kin)
        return state.default_step() or state.search_step() or state.final_step()


def seed_of(definition: Definition, problem: Problem) -> int:
    """A problem's own seed: the same whatever problems come before it."""
    text = f"{definition.search.seed}/{problem.key}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _relative(kin: Kin) -> Relative:
    """What its trials tell of another problem of the family: nothing before its default was measured."""
    rows = Rows(kin.rows)
    defaults = [row.value for row in rows.of(TrialRole.DEFAULT) if row.value is not None]
    if not defaults:
        return Relative(kin.problem.context)
    reference = statistics.fmean(defaults)
    searched = [
        Evaluated(row.parametrization, row.value and row.value / reference, row.state is TrialState.PRUNED)
        for row in rows.of(TrialRole.SEARCH)
    ]
    known = [Evaluated(kin.problem.default, value / reference) for value in defaults]
    return Relative(kin.problem.context, [*known, *searched])


def _machine_is_bad(problem: Problem, rows: Rows) -> Step | None:
    """After too many failures in a row the default once more, to tell bad points from a bad machine."""
    if (defaults := rows.of(TrialRole.DEFAULT)) and defaults[0].value is None:
        return Failed("the default itself did not run", defaults[0])
    in_a_row: list[Trial] = []
    for row in reversed(rows.ended):
        if row.value is not None:
            break
        in_a_row.insert(0, row)
    if len(in_a_row) < FAILURES_IN_A_ROW:
        return None
    for row in in_a_row[FAILURES_IN_A_ROW:]:
        if row.role is TrialRole.DEFAULT:
            return Failed(f"{FAILURES_IN_A_ROW} trials in a row failed, and then the default", row)
    return Wait() if rows.waiting(TrialRole.DEFAULT) else Start(TrialRole.DEFAULT, problem.default)


@dataclass
class _Stops:
    """How far the stop rules were looked at: what ended stays as it is, and so does what they said of it."""

    checked: int = 0
    at: int | None = None
    why: str = ""


@dataclass(frozen=True)
class _Solving:
    definition: Definition
    problem: Problem
    resampling: noise.Resampling
    stops: _Stops
    rows: Rows
    allowance: float | None
    kin: Sequence[Kin]

    @cached_property
    def seed(self) -> int:
        return seed_of(self.definition, self.problem)

    # -- the default ---------------------------------------------------------------------------------------------------

    def default_step(self) -> Step | None:
        runs, wanted = self.rows.of(TrialRole.DEFAULT), self.definition.repetitions.default_runs
        if len(runs) >= wanted:
            return None
        if len(runs) + len(self.rows.waiting(TrialRole.DEFAULT)) < wanted and self._affordable():
            return Start(TrialRole.DEFAULT, self.problem.default)
        return Wait() if self.rows.pending else None

    @cached_property
    def defaults(self) -> Sequence[Trial]:
        """The runs before the search that have a value."""
        runs = self.rows.of(TrialRole.DEFAULT)[: self.definition.repetitions.default_runs]
        return [row for row in runs if row.value is not None]

    @cached_property
    def default(self) -> Measurement:
        return measurement([row.value or 0.0 for row in self.defaults], self.defaults[0].unit)

    # -- the search ----------------------------------------------------------------------------------------------------

    def search_step(self) -> Step | None:
        waiting = self.rows.waiting(TrialRole.SEARCH)
        if self.rows.final or len(self.history) + len(waiting) >= self.definition.search.budget:
            return Wait() if waiting else None
        if not self._affordable():
            return Wait() if self.rows.pending else None
        at, _ = self._stop
        point = self.resampling.again(self.history, self._pending, at, self._trials_in_all())
        if point is None and at is None:
            point = self._ask()
        if point is None:
            return Wait() if waiting else None
        return Start(TrialRole.SEARCH, point, self._limit_s())

    @cached_property
    def _stop(self) -> tuple[int | None, str]:
        """After how many trials a rule other than the budget ended the search, and why; None where none did."""
        while self.stops.at is None and self.stops.checked < len(self.history):
            self.stops.checked += 1
            number = self.stops.checked
            why = self.definition.search.reached(
                Progress(self.problem.space, self.history[:number], self._seconds(number), self.default.mean)
            )
            self.stops.at, self.stops.why = (number, why) if why else (None, "")
        return self.stops.at, self.stops.why

    def _seconds(self, number: int) -> float:
        """From the begin of the search's first trial to the end of the `number`-th that ended."""
        begun = min(row.started_at or 0.0 for row in self.rows.of(TrialRole.SEARCH)[:number])
        return max(0.0, (self.rows.of(TrialRole.SEARCH)[number - 1].ended_at or 0.0) - begun)

    def _why_stopped(self) -> str:
        if len(self.history) >= (budget := self.definition.search.budget):
            return f"the budget of {budget} trials is spent"
        return self._stop[1] or ("" if self._affordable() else "its share of the node-hours is spent")

    def _ask(self) -> Parametrization | None:
        """The default's runs are told first, so that the model knows them; they are no trials of the search."""
        method = self.definition.search.new(self.problem.space, self.seed, self.problem.first)
        if isinstance(method, SharedSearch) and self.problem.context:
            method.relate(self.problem.context, self.default.mean, [_relative(kin) for kin in self.kin])
        for row in self.defaults:
            method.tell(self.problem.default, row.value)
        for evaluation in self.history:
            method.tell(evaluation.point, evaluation.value, censored=evaluation.censored)
        return method.ask(self._pending)

    def _limit_s(self) -> float | None:
        """Run time after which a trial of the search is stopped. Run times are compared, whatever the objective is."""
        section = self.definition.pruning
        own = [row.value if self.problem.round else row.elapsed_s for row in self.defaults]
        times = [time for time in own if time]
        default = measurement(times, "s") if times else None
        return pruning.limit_s(self.history, default, pruning.settings_of(section.policy, section.settings))

    @cached_property
    def _pending(self) -> Sequence[Parametrization]:
        return [row.parametrization for row in self.rows.waiting(TrialRole.SEARCH)]

    @cached_property
    def history(self) -> Sequence[Evaluation]:
        """The search's trials. What was pruned is a lower bound where the objective is the run time itself, which the
        default's runs tell, or a round has run times of its own; else it only counts as too slow."""
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
    def _initial(self) -> set[object]:
        """Keys of the first points that were begun, as many as the initial design has."""
        keys = [
            self.problem.space.key(row.parametrization)
            for row in sorted(self.rows.rows, key=lambda row: row.number)
            if row.role is TrialRole.SEARCH
        ]
        return set(list(dict.fromkeys(keys))[: self.definition.search.initial])

    # -- the comparison ------------------------------------------------------------------------------------------------

    def final_step(self) -> Step:
        """Default and winner in turn, in random order within each pair, one after the other however many could run."""
        if self.rows.pending:
            return Wait()
        winner = self._winner()
        if winner is None:
            return self._done(None, "no parametrization beat the default")
        points = {TrialRole.FINAL_DEFAULT: self.problem.default, TrialRole.FINAL_TUNED: winner}
        defaults, tuned = (self.rows.of(role) for role in points)
        rng = np.random.default_rng([self.seed, 1])
        pairs: list[tuple[float, float]] = []
        for number in range(self.definition.repetitions.final_pairs):
            roles = list(points) if rng.random() >= 0.5 else list(points)[::-1]
            done = {TrialRole.FINAL_DEFAULT: len(defaults) > number, TrialRole.FINAL_TUNED: len(tuned) > number}
            if all(done.values()):
                first, second = defaults[number].value, tuned[number].value
                if first is not None and second is None:
                    return self._done(None, "the best parametrization failed when it was run again")
                if first is not None and second is not None:
                    pairs.append((first, second))
                continue
            if not any(done.values()) and not self._affordable(trials=2):
                break
            role = next(role for role in roles if not done[role])
            return Start(role, points[role])
        if len(pairs) < 2:
            full = len(defaults) == self.definition.repetitions.final_pairs
            why = "too few of the final runs succeeded" if full else "the node-hours left no room for a comparison"
            return self._done(None, why)
        first_values, second_values = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        unit = self.default.unit
        means = measurement(first_values, unit), measurement(second_values, unit)
        gain = paired_gain(first_values, second_values)
        return self._done(Comparison(self.problem.key, winner, *means, *gain), "")

    def _winner(self) -> Parametrization | None:
        """The search's best point, on average; None where that does not beat the default's mean."""
        winner = self.resampling.winner(self.history)
        if winner is None:
            return None
        key = self.problem.space.key(winner)
        values = [
            row.value
            for row in measured(self.rows.of(TrialRole.SEARCH))
            if row.value is not None and self.problem.space.key(row.parametrization) == key
        ]
        return winner if values and statistics.fmean(values) < self.default.mean else None

    def _done(self, comparison: Comparison | None, note: str) -> Done:
        ended = self.rows.ended
        failed = sum(row.value is None for row in ended)
        pruned = sum(row.state is TrialState.PRUNED for row in ended)
        stopped = self._why_stopped() or "every point was tried"
        return Done(
            ProblemResult(self.problem.key, self.default, stopped, len(ended), failed, comparison, note, pruned)
        )

    # -- what it costs -------------------------------------------------------------------------------------------------

    def _affordable(self, trials: int = 1) -> bool:
        """Whether trials as long as the default's still fit into the allowance, what runs and the final pairs included.

        The first trial always does: what one costs is not known before.
        """
        if self.allowance is None or (cost := self._cost) is None:
            return True
        if trials > 1:  # the final pairs themselves
            return node_seconds(self.rows.rows) + trials * cost <= self.allowance
        return self._search_cost + (self._reserved + trials) * cost <= self.allowance

    def _trials_in_all(self) -> int:
        """How many trials the search can have: its budget, or as many as the allowance has room for."""
        budget = self.definition.search.budget
        if self.allowance is None or not (cost := self._cost):
            return budget
        left = math.floor((self.allowance - self._search_cost) / cost) - self._reserved
        return min(budget, len(self.history) + len(self._pending) + max(left, 0))

    @cached_property
    def _cost(self) -> float | None:
        """Of a trial, in node-seconds, as the default's; None: not known yet."""
        costs = [node_seconds([row]) for row in self.rows.of(TrialRole.DEFAULT)]
        return statistics.fmean(costs) if costs else None

    @property
    def _reserved(self) -> int:
        """Trials that are to be paid for besides: those that run, and the final pairs."""
        return 2 * self.definition.repetitions.final_pairs + len(self.rows.pending)

    @cached_property
    def _search_cost(self) -> float:
        return node_seconds([row for row in self.rows.rows if row.role not in FINAL])
