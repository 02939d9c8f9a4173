# SPDX-License-Identifier: Apache-2.0
"""Next step of a campaign, computed from its definition and its trials alone; no other state is kept.

The steps of each problem are runs of the default, the search, and the comparison of the winner with the default.
`Solver.next_step` is called with all trials, including running ones, whenever there is room for another trial. A
campaign therefore continues after any interruption with the next call, no matter which trials ended or were lost
meanwhile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from reprise.database.entities import Trial, TrialRole
from reprise.tuner import noise
from reprise.tuner.definition.campaign_definition import Definition
from reprise.tuner.model.component import Problem
from reprise.tuner.model.trial_rows import Rows
from reprise.tuner.steps import default_runs
from reprise.tuner.steps.costs import Costs, least_searched
from reprise.tuner.steps.final_comparison import Comparing
from reprise.tuner.steps.problem_evidence import Evidence
from reprise.tuner.steps.problem_family import Kin
from reprise.tuner.steps.search_steps import Searching, Stops
from reprise.tuner.steps.step import Done, Failed, ProblemResult, Scarce, Start, Step, Wait

FAILURES_IN_A_ROW = 10


class Solver:
    """Planner of one problem's next steps. All state other than the definition and the problem is only a cache."""

    def __init__(self, definition: Definition, problem: Problem) -> None:
        self._definition = definition
        self._problem = problem
        self._seed = seed_of(definition, problem)
        section, budget = definition.noise, definition.search.budget
        self._resampling = noise.build(section.policy, problem.space, budget, self._seed, **section.settings)
        self._stops = Stops()

    def next_step(
        self, trials: Sequence[Trial], allowance: float | None = None, kin: Sequence[Kin] = (), session: int = 1
    ) -> Step:
        """Return the next step after the problem's trials so far.

        `allowance`: total node-seconds that the problem may use; None: unlimited. In session 1, the result is `Later`
        if the winner needs a second session.
        """
        rows = Rows(trials)
        if step := _machine_is_bad(self._problem, rows):
            return step
        repetitions = self._definition.repetitions
        costs = Costs(rows, allowance, repetitions.final_pairs + repetitions.confirm_pairs)
        if step := _default(self._problem, rows, repetitions.default_runs, costs):
            return step
        evidence = Evidence(self._definition, self._problem, rows)
        if why := default_runs.given_up(rows.of(TrialRole.DEFAULT), repetitions.default_runs):
            return Done(_without_search(evidence, why))
        if step := _scarce(evidence, costs):
            return step
        search = Searching(evidence, costs, self._resampling, self._stops, self._seed, kin)
        if step := search.step():
            return step
        if rows.pending:  # pairs run one after the other, even if more trials could run
            return Wait()
        winner = search.winner()
        return Comparing(
            evidence, costs, self._seed, winner, lambda: search.winner(without=winner), search.why_stopped(), session
        ).step()


def seed_of(definition: Definition, problem: Problem) -> int:
    """Return a problem's seed, which does not depend on the problems before it."""
    text = f"{definition.search.seed}/{problem.key}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _machine_is_bad(problem: Problem, rows: Rows) -> Step | None:
    """After too many failures in a row, return a run of the default, or `Failed` if that run failed, too.

    The run distinguishes bad points from a bad machine. The result is also `Failed` if the default's first run failed,
    and None if the machine seems to work.
    """
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


def _default(problem: Problem, rows: Rows, wanted: int, costs: Costs) -> Step | None:
    """Return the next run of the default before the search, or None if no further run is needed or can be paid for."""
    ended = rows.of(TrialRole.DEFAULT)
    in_all = default_runs.needed(ended, wanted)
    if len(ended) >= in_all:
        return None
    if len(ended) + len(rows.waiting(TrialRole.DEFAULT)) < in_all and costs.allow_a_trial():
        return Start(TrialRole.DEFAULT, problem.default)
    return Wait() if rows.pending else None


def _scarce(evidence: Evidence, costs: Costs) -> Step | None:
    """Return `Scarce` if the search has not begun and the node-hours do not pay for enough trials; otherwise None."""
    if any(row.role is not TrialRole.DEFAULT for row in evidence.rows.rows):
        return None
    definition = evidence.definition
    wanted, room = least_searched(definition, evidence.problem), costs.trials_of_the_search(definition.search.budget, 0)
    if room >= wanted:
        return None
    words = f"its share of the node-hours pays for {room} of the {wanted} trials that a search needs"
    least = costs.least(definition.repetitions.default_runs, wanted)
    return Scarce(room, wanted, least, _without_search(evidence, words))


def _without_search(evidence: Evidence, note: str) -> ProblemResult:
    ended = evidence.rows.ended
    failed = sum(row.value is None for row in ended)
    return ProblemResult(evidence.problem.key, evidence.default, "", len(ended), failed, note=note)
