# SPDX-License-Identifier: Apache-2.0
"""What a campaign would submit, and what it would cost, before anything is submitted."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from database.facade import Database
from database.model import TrialRole, TrialState
from reprise.config import Config
from tuner.campaign import Definition
from tuner.component import Component, Problem
from tuner.coordinator import most_trials
from tuner.executors.base import Begun, Executor
from tuner.space import Parametrization
from tuner.steps import seed_of


@dataclass(frozen=True)
class Cost:
    """Of a whole campaign, in node-hours: `most` if every trial takes as long as it may, `expected` if all take as long
    as the default. `hours`: of that time, if nothing waits in the queue. None: the default's time is not known."""

    trials: int
    most: float
    expected: float | None = None
    hours: float | None = None

    def __str__(self) -> str:
        words = f"at most {self.trials} trials and {self.most:.3g} node-hours"
        if self.expected is None or self.hours is None:
            return f"{words} (say --trial-seconds to see what is to be expected)"
        return f"{words}; {self.expected:.3g} node-hours in {self.hours:.3g} h if all take as long as the default"


def trials(
    definition: Definition, component: Component, problem: Problem, executor: Executor, config: Config, count: int
) -> Sequence[str]:
    """The first trials of a problem, the default among them, each with its script, as a person reads it."""
    texts = []
    for number, (role, point) in enumerate(_first(definition, problem, count)):
        plan = component.plan(problem.key, point)
        plan = dataclasses.replace(plan, timeout_s=min(plan.timeout_s, definition.executor.max_trial_s))
        directory = config.tuner.work / "CAMPAIGN" / problem.key.replace("/", "_") / f"{number:04}"
        settings = " ".join(f"{name}={value}" for name, value in point.items())
        texts.append(f"# {problem.key}, {role}: {settings}\n{executor.preview(Begun('TRIAL', plan, directory))}")
    return texts


def cost(
    definition: Definition, component: Component, problems: Sequence[Problem], trial_s: float | None = None
) -> Cost:
    """What a campaign costs; `trial_s`: what a run of the default takes, in seconds."""
    number, most, expected = 0, 0.0, 0.0
    for problem in problems:
        plan, count = component.plan(problem.key, problem.default), most_trials(definition, problem)
        limit_s = min(plan.timeout_s, definition.executor.max_trial_s)
        number += count
        most += count * plan.nodes * limit_s / 3600
        expected += count * plan.nodes * min(trial_s or 0.0, limit_s) / 3600
    hours = number * (trial_s or 0.0) / 3600 / definition.executor.parallel
    if (budget := definition.budget.node_hours) is not None:
        hours *= min(1.0, budget / expected) if expected else 1.0
        most, expected = min(most, budget), min(expected, budget)
    return Cost(number, most) if trial_s is None else Cost(number, most, expected, hours)


def known_trial_s(database: Database, definition: Definition) -> float | None:
    """What a run of the default took in the last campaign for the same thing, in seconds; None without one."""
    same = ("component", "application", "settings")
    wanted = {key: value for key, value in definition.model_dump(mode="json").items() if key in same}
    for campaign in database.campaigns():
        if {key: campaign.spec["definition"].get(key) for key in same} != wanted:
            continue
        rows = [row for row in database.trials(campaign.id) if row.role is TrialRole.DEFAULT]
        times = [row.elapsed_s for row in rows if row.state is TrialState.COMPLETE and row.elapsed_s]
        if times:
            return statistics.fmean(times)
    return None


def _first(definition: Definition, problem: Problem, count: int) -> list[tuple[TrialRole, Parametrization]]:
    method = definition.search.new(problem.space, seed_of(definition, problem), problem.first)
    method.tell(problem.default, 1.0)
    points: list[Parametrization] = []
    while len(points) < min(count - 1, definition.search.budget) and (point := method.ask(points)) is not None:
        points.append(point)
    return [(TrialRole.DEFAULT, problem.default), *((TrialRole.SEARCH, point) for point in points)]
