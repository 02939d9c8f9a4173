# SPDX-License-Identifier: Apache-2.0
"""Search within a campaign: the next point to try, its time limit, and the reason to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reprise.database.entities import TrialRole
from reprise.tuner import noise, search
from reprise.tuner.definition import pruning
from reprise.tuner.model.space import Parametrization
from reprise.tuner.model.statistics import measurement
from reprise.tuner.search.shared_process import SharedSearch
from reprise.tuner.search.stop_rules import Progress
from reprise.tuner.steps.costs import Costs
from reprise.tuner.steps.problem_evidence import Evidence
from reprise.tuner.steps.problem_family import Kin
from reprise.tuner.steps.step import Start, Step, Wait


@dataclass
class Stops:
    """Cached progress of the stop rules, which stays valid because ended trials do not change."""

    checked: int = 0
    at: int | None = None
    why: str = ""


@dataclass(frozen=True)
class Searching:
    """The search of a problem.

    `stops` is a cache that is kept between calls and does not affect the results. `kin`: the other problems of the
    family.
    """

    evidence: Evidence
    costs: Costs
    resampling: noise.Resampling
    stops: Stops
    seed: int
    kin: Sequence[Kin] = ()

    def step(self) -> Step | None:
        """Return the next trial of the search, or `Wait`; None if the search has ended."""
        evidence, rows = self.evidence, self.evidence.rows
        budget, waiting = evidence.definition.search.budget, len(evidence.pending)
        if rows.final or len(evidence.history) + waiting >= budget:
            return Wait() if waiting else None
        if not self.costs.allow_a_trial():
            return Wait() if rows.pending else None
        at, _ = self._stop()
        in_all = self.costs.trials_of_the_search(budget, len(evidence.history) + waiting)
        point = self.resampling.again(evidence.history, evidence.pending, at, in_all)
        if point is None and at is None:
            point = self._ask()
            if point is None and not waiting:  # all points were tried: repeat the best ones with the rest of the budget
                point = self.resampling.again(evidence.history, (), self._tried(), in_all)
        if point is None:
            return Wait() if waiting else None
        return Start(TrialRole.SEARCH, point, self._limit_s(point))

    def why_stopped(self) -> str:
        """Return why there are no more trials, in one line."""
        if len(self.evidence.history) >= (budget := self.evidence.definition.search.budget):
            return f"the budget of {budget} trials is spent"
        _, why = self._stop()
        return why or (
            "every point was tried" if self.costs.allow_a_trial() else "its share of the node-hours is spent"
        )

    def winner(self, without: Parametrization | None = None) -> Parametrization | None:
        """Return the point with the best mean; None if it does not beat the default. `without` excludes a point."""
        history, key = self.evidence.history, self.evidence.problem.space.key
        if without is not None:
            history = [one for one in history if key(one.point) != key(without)]
        winner = self.resampling.winner(history)
        if winner is None:
            return None
        mean = self.evidence.mean(winner)
        return winner if mean is not None and mean < self.evidence.default.mean else None

    def _stop(self) -> tuple[int | None, str]:
        """Return the number of trials after which a rule other than the budget ended the search (or None), and why."""
        evidence, stops = self.evidence, self.stops
        while stops.at is None and stops.checked < len(evidence.history):
            stops.checked += 1
            number = stops.checked
            progress = Progress(
                evidence.problem.space, evidence.history[:number], self._seconds(number), evidence.default.mean
            )
            why = evidence.definition.search.reached(progress)
            stops.at, stops.why = (number, why) if why else (None, "")
        return stops.at, stops.why

    def _tried(self) -> int:
        """Return the number of trials up to and including the last trial that tried a new point."""
        key = self.evidence.problem.space.key
        first = {key(one.point): number for number, one in reversed(list(enumerate(self.evidence.history, 1)))}
        return max(first.values(), default=0)

    def _seconds(self, number: int) -> float:
        """Return the seconds from the start of the search's first trial until `number` of its trials had ended."""
        ended = self.evidence.rows.of(TrialRole.SEARCH)[:number]
        begun = min(row.started_at or 0.0 for row in ended)
        return max(0.0, (ended[-1].ended_at or 0.0) - begun)

    def _ask(self) -> Parametrization | None:
        """Return the point that the search proposes.

        The default's runs are passed to the search method first, so that its model includes them. They do not count as
        trials of the search.
        """
        evidence = self.evidence
        method = evidence.definition.search.new(
            evidence.problem.space, self.seed, evidence.problem.first, designed=not self._is_known()
        )
        if isinstance(method, SharedSearch) and evidence.problem.context:
            relatives = [one.relative() for one in self.kin]
            method.relate(evidence.problem.context, evidence.default.mean, relatives, evidence.problem.common)
        for row in evidence.defaults:
            method.tell(evidence.problem.default, row.value)
        for evaluation in evidence.history:
            method.tell(evaluation.point, evaluation.value, censored=evaluation.censored)
        return method.ask(evidence.pending)

    def _is_known(self) -> bool:
        """Return whether the model learns enough from earlier searches of the family to skip the initial design.

        Problems of the same round do not help, since their searches have made no more progress than this one.
        """
        section = self.evidence.definition.search
        return search.METHODS[section.method].shares and any(one.searched >= section.initial for one in self.kin)

    def _limit_s(self, point: Parametrization) -> float | None:
        """Return the limit of a trial of the search: of its run time or, in a round, of its objective."""
        section = self.evidence.definition.pruning
        in_round = bool(self.evidence.problem.round)
        own = [row.value if in_round else row.elapsed_s for row in self.evidence.defaults]
        times = [time for time in own if time]
        default = measurement(times, "s") if times else None
        settings = pruning.settings_of(section.policy, section.settings)
        return pruning.limit_s(self.evidence.history, default, settings, point, self.evidence.problem.space.key)
