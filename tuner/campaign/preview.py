# SPDX-License-Identifier: Apache-2.0
"""Preview a campaign's first trials and its cost, without submitting anything."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise.config import Config
from reprise.database.entities import Json, TrialRole, TrialState
from reprise.database.for_tuner import TunerDatabase
from reprise.database.masked_json import masked_json
from reprise.tuner.campaign.work_ahead import most_trials, rounds
from reprise.tuner.definition.campaign_definition import CampaignError, Definition
from reprise.tuner.executors.executor import Begun, Executor
from reprise.tuner.executors.trial_script import beside
from reprise.tuner.model.component import Component, Problem, RoundComponent, TrialPlan, Wanted
from reprise.tuner.model.space import Parametrization
from reprise.tuner.steps import warm_start as warm
from reprise.tuner.steps.costs import in_node_hours, least_trials
from reprise.tuner.steps.next_step import seed_of


@dataclass(frozen=True)
class Cost:
    """Cost of a whole campaign in trials, node-hours and hours.

    `most`, in node-hours, assumes that every trial runs up to its time limit. `expected`, in node-hours, assumes that
    all trials take as long as the default. `hours` is the elapsed time under the latter assumption, without time in the
    queue. `expected` and `hours` are None if the default's run time is unknown.
    """

    trials: int
    most: float
    expected: float | None = None
    hours: float | None = None

    def __str__(self) -> str:
        words = f"at most {self.trials} trials and {self.most:.3g} node-hours"
        if self.expected is None or self.hours is None:
            return f"{words} (give --trial-seconds to see the expected cost)"
        return f"{words}; {self.expected:.3g} node-hours in {self.hours:.3g} h if all take as long as the default"


@dataclass(frozen=True)
class Planned:
    """Preview of a campaign.

    `trials` are the first runs as text for people. `warm_start` are the tuned jobs from which the search would start
    (`tuner.steps.warm_start`). `refused` is the reason why `tune run` would refuse the campaign; "" if it would accept
    the campaign.
    """

    campaign: str
    problems: Sequence[str]
    trials: Sequence[str]
    cost: Cost
    warm_start: Sequence[Json] = ()
    refused: str = ""

    def __str__(self) -> str:
        start = [f"# {words}"] if (words := warm.in_words(self.warm_start)) else []
        refused = [f"# would be refused: {self.refused}"] if self.refused else []
        return "\n".join([*self.trials, *start, *refused, f"# {', '.join(self.problems)}: {self.cost}"])

    def to_json(self) -> dict[str, Any]:
        """Return the preview as JSON. Within a version of this format, keys are only added."""
        return {
            "campaign": self.campaign,
            "problems": list(self.problems),
            "trials": list(self.trials),
            "warm_start": [{"record": one["record"], "score": one["score"]} for one in self.warm_start],
            "refused": self.refused,
            "most_trials": self.cost.trials,
            "most_node_hours": self.cost.most,
            "expected_node_hours": self.cost.expected,
            "expected_s": None if self.cost.hours is None else self.cost.hours * 3600,
        }


def trials(
    definition: Definition,
    component: Component,
    problems: Sequence[Problem],
    executor: Executor,
    config: Config,
    count: int,
) -> Sequence[str]:
    """Return, as text for people, the first `count` runs of the first problem or round, including the default.

    The text of a run contains the run's script and the other files in the run's directory. For a file that is equal to
    the previous run's file, the text contains only the path.
    """
    first = rounds(problems)[0]
    points = [_first(definition, problem, count) for problem in first]
    texts = list[str]()
    shown = dict[str, str]()
    for number in range(max(map(len, points))):
        chosen = [(one, *some[number]) for one, some in zip(first, points, strict=True) if number < len(some)]
        plan = _plan(component, [(problem, point) for problem, _, point in chosen])
        plan = dataclasses.replace(plan, timeout_s=min(plan.timeout_s, definition.executor.max_trial_s))
        directory = config.tuner.work / "CAMPAIGN" / chosen[0][0].key.replace("/", "_") / f"{number:04}"
        head = "".join(
            f"# {problem.key}, {role}: {' '.join(f'{name}={value}' for name, value in point.items())}\n"
            for problem, role, point in chosen
        )
        script = executor.preview(Begun("TRIAL", plan, directory))
        texts.append(f"{head}{script}{_files(plan, directory, shown)}")
        shown = _written(plan)
    return texts


def _written(plan: TrialPlan) -> dict[str, str]:
    return beside(plan) | dict(plan.files)


def _files(plan: TrialPlan, directory: Path, shown: Mapping[str, str]) -> str:
    """Return the files of a trial as text, each preceded by its path; for a file that is unchanged, only the path.

    `shown`: files of the previous run.
    """
    text = ""
    for name, content in _written(plan).items():
        again = shown.get(name) == content
        text += f"\n==> {directory / name}{' is unchanged' if again else ''}\n{'' if again else content}"
        text += "" if text.endswith("\n") else "\n"
    return text


def cost(
    definition: Definition, component: Component, problems: Sequence[Problem], trial_s: float | None = None
) -> Cost:
    """Return the maximum and the expected cost of a campaign.

    `trial_s` is the run time of the default in seconds, or None if it is unknown. If one run evaluates several
    problems, `trial_s` is one problem's share of that run.
    """
    number, most, expected = 0, 0.0, 0.0
    for together in rounds(problems):
        plan = _plan(component, [(problem, problem.default) for problem in together])
        limit_s = min(plan.timeout_s, definition.executor.max_trial_s) / len(together)
        for problem in together:
            count = most_trials(definition, problem)
            number += count
            most += count * plan.nodes * limit_s / 3600
            expected += count * plan.nodes * min(trial_s or 0.0, limit_s) / 3600
    hours = number * (trial_s or 0.0) / 3600 / definition.executor.parallel
    if (budget := definition.budget.node_hours) is not None:
        hours *= min(1.0, budget / expected) if expected else 1.0
        most, expected = min(most, budget), min(expected, budget)
    return Cost(number, most) if trial_s is None else Cost(number, most, expected, hours)


def why_scarce(definition: Definition, component: Component, problems: Sequence[Problem], trial_s: float | None) -> str:
    """Return a line that says why the node-hours are too few, and how many are needed; "" if they suffice.

    `trial_s` is the run time of the default in seconds; if it is unknown, the result is "". Each problem gets an equal
    share of the node-hours, so the most expensive problem determines how many are needed.
    """
    budget = definition.budget.node_hours
    if budget is None or not trial_s:
        return ""
    least = 0.0
    for together in rounds(problems):
        plan = _plan(component, [(problem, problem.default) for problem in together])
        run_s = min(trial_s, plan.timeout_s, definition.executor.max_trial_s)
        least = max(least, *(least_trials(definition, problem) * plan.nodes * run_s for problem in together))
    least *= len(problems)
    if 3600 * budget >= least:
        return ""
    return (
        f"{budget:g} node-hours are too few to search {len(problems)} problems, at {trial_s:.3g} s for a run of the "
        f"default: give at least {in_node_hours(least)} node-hours, or tune fewer problems"
    )


def refuse_scarce(
    database: TunerDatabase, definition: Definition, component: Component, problems: Sequence[Problem]
) -> None:
    """Raise CampaignError if the node-hours are too few, judging by the default's run time in an earlier campaign.

    Do nothing if there is no earlier campaign.
    """
    if definition.budget.node_hours is not None and (
        why := why_scarce(definition, component, problems, known_trial_s(database, definition))
    ):
        raise CampaignError(f"campaign {definition.name!r}: {why}")


def _plan(component: Component, chosen: Sequence[tuple[Problem, Parametrization]]) -> TrialPlan:
    """Return the plan of one run that evaluates all chosen points."""
    if chosen[0][0].round and isinstance(component, RoundComponent):
        return component.plan_round([Wanted(problem.key, point) for problem, point in chosen])
    ((problem, point),) = chosen
    return component.plan(problem.key, point)


def known_trial_s(database: TunerDatabase, definition: Definition) -> float | None:
    """Return the default's mean run time, in seconds, in the most recent similar campaign; None without one.

    Campaigns are similar if their component, application and settings are equal.
    """
    same = ("component", "application", "settings")
    wanted = {key: value for key, value in masked_json(definition.model_dump(mode="json")).items() if key in same}
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
