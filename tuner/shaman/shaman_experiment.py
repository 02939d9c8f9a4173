# SPDX-License-Identifier: Apache-2.0
"""Conversion of a SHAMan experiment to a Reprise campaign.

Everything that has no counterpart in Reprise is reported, one line for each item.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reprise.tuner.errors import TunerError
from reprise.tuner.shaman.shaman_component import Converted

SECTIONS = ("experiment", "bbo", "pruning", "noise_reduction", "components", "api")

METHODS = {
    "genetic_algorithm": "genetic",
    "simulated_annealing": "annealing",
    "surrogate_model": "gp-ei",
    "surrogate_models": "gp-ei",
    "exhaustive_search": "exhaustive",
    "random_search": "random",
}
DESIGNS = {
    "uniform_random": "uniform",
    "latin_hypercube_sampling": "lhs",
    "hybrid_lhs_uniform_sampling": "hybrid",
}
# For each key of `bbo`: the name of the method's setting, and a map from SHAMan's words (the last part of a dotted
# path) to Reprise's, or None if the value is kept.
SETTINGS: Mapping[str, tuple[str, Mapping[str, Any] | None]] = {
    "selection_method": ("selection", {"tournament_pick": "tournament", "probabilistic_pick": "probabilistic"}),
    "pool_size": ("pool", None),
    "crossover_method": ("crossover", {"single_point_crossover": "single", "double_point_crossover": "double"}),
    "mutation_rate": ("mutation", None),
    "elitism": ("elitism", None),
    "cooldown_function": (
        "cooling",
        {
            "exponential_schedule": "exponential",
            "multiplicative_schedule": "multiplicative",
            "logarithmic_schedule": "logarithmic",
        },
    ),
    "restart": ("restart", {"random_restart": "random", "threshold_restart": "threshold", "False": "none"}),
    "max_restart": ("restarts", None),
    "cooling_factor": ("alpha", None),
    "bernouilli_parameter": ("restart_probability", None),
}
NUMBERS = ("mutation", "alpha", "restart_probability")  # settings that are not whole numbers
# Maps a key of `bbo` to the values that need no setting, since Reprise always behaves in that way.
SAME: Mapping[str, tuple[str, ...]] = {
    "mutation_method": ("mutate_chromosome_to_neighbor",),
    "regression_model": ("GaussianProcessRegressor",),
    "next_parameter_strategy": ("expected_improvement",),
    "improvement_estimator": ("min", "amin"),
    "reevaluate": ("False",),
}
INSTEAD = {
    "mutation_method": "a mutation moves to a neighbor",
    "regression_model": "the model is a Gaussian process",
    "next_parameter_strategy": "the next point is the point with the greatest expected improvement",
    "improvement_estimator": "the improvement is measured from the best value",
    "reevaluate": "a point is only tried again if the noise policy asks for it",
    "max_retry": "a point is only tried again if the noise policy asks for it",
    "time_out": "the budget is in trials, and `budget.node_hours` is in node-hours",
    "initial_temperature": "temperatures are in standard deviations of the values; search.settings.temperature sets it",
    "probability_threshold": "search.settings.restart_threshold is a temperature",
    "neighbor_function": "neighbors are one step away",
    "async_optim": "trials are stopped by the pruning policy",
}
MAYBE = {"dynamic_resampling": "sedr", "dynamic_resampling_2": "sedr"}
MEDIANS = ("dynamic_resampling_non_parametric", "dynamic_resampling_non_parametric_2")


@dataclass(frozen=True)
class Job:
    """The job to tune, from the command line. `user`: owner of the job; `script`: absolute path of its script."""

    component: str
    script: str
    user: str
    name: str
    budget: int | None = None


def is_experiment(data: Mapping[str, Any]) -> bool:
    """Return whether `data` is a SHAMan experiment, which has `bbo` or `experiment` but no `component`."""
    return "component" not in data and "parameters" not in data and ("bbo" in data or "experiment" in data)


def component_of(data: Mapping[str, Any], wanted: str | None, where: str) -> str:
    """Return the component to tune: `wanted`, or the file's only component. Raise TunerError if it does not exist."""
    names = [str(name) for name in _section(data, "components", where)]
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted not in names:
        said = f"has no component {wanted!r}" if wanted else "has several components"
        raise TunerError(f"{where}: {said}: set --component-name to one of {', '.join(names) or 'its components'}")
    return wanted


def our_name(component: str) -> str:
    """Return a component's name in a Reprise file."""
    return re.sub(r"[^\w.-]", "-", component)


def convert(data: Mapping[str, Any], where: str, job: Job, parameters: Mapping[str, Any]) -> Converted:
    """Return the campaign for a job.

    `parameters` are those of the Reprise component file; parameters that the experiment does not name keep their
    defaults. Raise TunerError with a one-line message if the experiment is invalid.
    """
    conversion = _Conversion(data, where)
    search = conversion.search(job.budget)
    ranges = conversion.section("components").get(job.component) or {}
    unknown = [key for key in ranges if key not in parameters]
    if unknown:
        raise TunerError(f"{where}: {unknown[0]!r} is not a parameter of {job.component}: correct it")
    fixed = {key: given["default"] for key, given in parameters.items() if key not in ranges}
    definition: dict[str, Any] = {
        "name": re.sub(r"[^\w.@+ /-]", "-", job.name)[:100],
        "component": our_name(job.component),
        "settings": {"space": {**ranges, **fixed}},
        "application": {"script": job.script, "user": job.user},
        "search": search,
        "noise": conversion.noise(),
        "pruning": conversion.pruning(),
        "executor": {"kind": "slurm", **conversion.limit},
    }
    conversion.others(job.component)
    return Converted(definition, conversion.notes)


def _section(data: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    found = data.get(name) or {}
    if not isinstance(found, dict):
        raise TunerError(f"{where}: {name} is not a mapping: correct it")
    return found


def _word(value: Any) -> str:
    """Return the last part of a dotted path, for example "median" for "numpy.median"."""
    return str(value).rpartition(".")[2] if isinstance(value, str) else str(value)


@dataclass
class _Conversion:
    data: Mapping[str, Any]
    where: str
    notes: list[str] = field(default_factory=list)
    limit: dict[str, float] = field(default_factory=dict)

    def section(self, name: str) -> Mapping[str, Any]:
        return _section(self.data, name, self.where)

    def say(self, key: str, value: Any, instead: str) -> None:
        self.notes.append(f"{key}: {_word(value)}: has no counterpart: {instead}")

    def search(self, budget: int | None) -> dict[str, Any]:
        given = dict(self.section("bbo"))
        heuristic = _word(given.pop("heuristic", "surrogate_model"))
        if heuristic not in METHODS:
            raise TunerError(f"{self.where}: heuristic {heuristic!r} is not one of {', '.join(METHODS)}: correct it")
        wanted = budget or given.get("max_iteration")
        given.pop("max_iteration", None)
        found: dict[str, Any] = {"method": METHODS[heuristic], **({"budget": int(wanted)} if wanted else {})}
        if "initial_sample_size" in given:
            found["initial"] = given.pop("initial_sample_size")
        if "initial_draw_method" in given:
            method = _word(given.pop("initial_draw_method"))
            if method in DESIGNS:
                found["design"] = DESIGNS[method]
            else:
                self.say("bbo.initial_draw_method", method, "the design is hybrid")
        found |= self._stop(given)
        settings = self._settings(given)
        for key, value in given.items():
            if _word(value) not in SAME.get(key, ()):
                self.say(f"bbo.{key}", value, INSTEAD.get(key, "left out"))
        return found | ({"settings": settings} if settings else {})

    def _stop(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return settings of the stop rule; without a stop criterion, SHAMan continues until its budget is spent."""
        criterion = _word(given.pop("stop_criterion", None) or "")
        if criterion not in ("improvement", "improvement_criterion", "ImprovementCriterion"):
            if criterion:
                self.say("bbo.stop_criterion", criterion, "the search stops when its budget is spent")
            return {"window": 0}
        threshold = given.pop("improvement_threshold", None)
        improvement = {} if threshold is None else {"improvement": float(threshold)}
        return {"window": given.pop("stop_window", 15), **improvement}

    def _settings(self, given: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for key, (name, words) in SETTINGS.items():
            if key not in given:
                continue
            value = given.pop(key)
            if words is None:
                found[name] = float(value) if name in NUMBERS else value
            elif _word(value) in words:
                found[name] = words[_word(value)]
            else:
                self.say(f"bbo.{key}", value, f"search.settings.{name} is one of {', '.join(words.values())}")
        return found

    def noise(self) -> dict[str, Any]:
        given = dict(self.section("noise_reduction"))
        policy = _word(given.pop("resampling_policy", None) or "none")
        found: dict[str, Any] = {"policy": "none"}
        if policy == "simple_resampling":
            found = {"policy": "static", "settings": {"evaluations": given.pop("nbr_resamples", 3)}}
        elif policy in MAYBE or policy in MEDIANS:
            settings = self._taken(given, {"percentage": ("width", float), "max_resamples": ("most", int)})
            found = {"policy": "sedr", "settings": settings}
            if policy in MEDIANS:
                self.say(
                    "noise_reduction.resampling_policy", policy, "the interval is that of the mean, not of the median"
                )
        elif policy not in ("none", "None"):
            self.say("noise_reduction.resampling_policy", policy, "no point is measured again")
        estimator = _word(given.pop("estimator", "mean"))
        if estimator != "mean":
            self.say("noise_reduction.estimator", estimator, "the samples of a point are averaged")
        aggregation = _word(given.pop("fitness_aggregation", None) or "none")
        if aggregation not in ("simple_fitness_aggregation", "none", "None"):
            self.say("noise_reduction.fitness_aggregation", aggregation, "the samples of a point are averaged")
        for key, value in given.items():
            schedule = (
                "the policy thesis has schedules (docs/explanation/noise.md)" if "schedule" in key else "left out"
            )
            self.say(f"noise_reduction.{key}", value, schedule)
        return found

    def pruning(self) -> dict[str, Any]:
        given = dict(self.section("pruning"))
        duration = given.pop("max_step_duration", None)
        for key, value in given.items():
            self.say(f"pruning.{key}", value, "left out")
        if duration is None:
            return {"policy": "none"}
        if isinstance(duration, int | float) and not isinstance(duration, bool):
            self.limit["max_trial_s"] = float(duration)
            self.notes.append(f"pruning.max_step_duration: executor.max_trial_s is {duration} s for every trial")
            return {"policy": "none"}
        word = _word(duration)
        if word == "default":
            return {"policy": "default", "settings": {"factor": 1.0}}
        if word in ("median", "mean"):
            return {"policy": "estimator", "settings": {"estimator": word, "factor": 1.0}}
        self.say("pruning.max_step_duration", duration, "estimators are median and mean: no trial is pruned")
        return {"policy": "none"}

    def others(self, component: str) -> None:
        """Report the remaining parts of the file, which have no counterpart in Reprise."""
        if self.section("experiment").get("default_first") is False:
            self.say(
                "experiment.default_first", False, "the default is always measured first: gains are relative to it"
            )
        for key, value in self.section("experiment").items():
            if key != "default_first":
                self.say(f"experiment.{key}", value, "left out")
        if self.data.get("api"):
            self.notes.append("api: has no counterpart: results go into the database")
        self.notes += [f"{key!r} is unknown and left out" for key in self.data if key not in SECTIONS]
        rest = [str(name) for name in self.section("components") if name != component]
        if rest:
            self.notes.append(f"components: a campaign tunes only one, {component}: left out {', '.join(rest)}")

    def _taken(self, given: dict[str, Any], names: Mapping[str, tuple[str, Callable[[Any], Any]]]) -> dict[str, Any]:
        return {ours: kind(given.pop(key)) for key, (ours, kind) in names.items() if given.get(key) is not None}
