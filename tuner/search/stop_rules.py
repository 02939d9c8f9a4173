# SPDX-License-Identifier: Apache-2.0
"""Rules that end a search: the stop rules of Robert 2021, section 3.5, and combinations of them.

The rules `reference` and `improvement` consider points, not trials: a point that was evaluated several times counts
once, with its mean, so that measuring a point again neither counts as an improvement nor uses up a rule's window.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, Protocol

import numpy as np
from pydantic import Field, ValidationError, model_validator

from reprise.config import Section, first_problem
from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.search.encoding import encode
from reprise.tuner.search.search_method import Told


@dataclass(frozen=True)
class StopRule:
    """Rule: stop after `budget` trials, or if the last `window` trials improved the best by less than `improvement`.

    The second condition is first tested after more than `initial` + `window` trials. A flat objective with 10 initial
    points and a window of 15 therefore stops after 26 trials.
    """

    initial: int = 10
    budget: int = 150
    window: int = 15
    improvement: float = 0.01

    def reached(self, values: Sequence[float | None]) -> str:
        """Return the reason to stop, in one line; empty if the search should continue.

        `values` has the value of each distinct point, or None for a point without a value, in the order of their first
        trials.
        """
        if len(values) >= self.budget:
            return f"the budget of {self.budget} trials is spent"
        if self.window == 0 or len(values) <= self.initial + self.window:
            return ""
        if improvement(values, self.window, min) >= self.improvement:
            return ""
        return f"the last {self.window} trials improved the best by less than {self.improvement:.3g}"


class Ended(Protocol):
    """A trial that ended. A lower `value` is better; it is None after a failure, and a lower bound if `censored`."""

    @property
    def point(self) -> Parametrization:
        """Parametrization of the trial."""

    @property
    def value(self) -> float | None:
        """Value of the trial, or None if it failed."""

    @property
    def censored(self) -> bool:
        """Whether the value is only a lower bound."""


@dataclass(frozen=True)
class Progress:
    """Input of the stop rules.

    `history`: the trials so far, in the order in which they ended. `seconds`: time since the search began. `default`:
    the default's value, or None if it was not measured.
    """

    space: Space
    history: Sequence[Ended]
    seconds: float = 0.0
    default: float | None = None

    @cached_property
    def values(self) -> Sequence[float | None]:
        """Mean of each distinct point (None if it has no value), in the order of the points' first trials."""
        told = Told(self.space)
        for ended in self.history:
            told.tell(ended.point, ended.value, ended.censored)
        return [observation.mean for observation in told.observations.values()]

    @property
    def best(self) -> float | None:
        """Lowest mean of all points, or None if no point has a value."""
        return min((value for value in self.values if value is not None), default=None)


class Exhaustion(Section):
    """Rule: stop when the budget is spent."""

    rule: Literal["exhaustion"]
    trials: int | None = Field(None, ge=1, description="number of trials, including repeated ones")
    seconds: float | None = Field(None, gt=0, description="seconds since the search began")

    def reached(self, progress: Progress) -> str:
        """Return the reason to stop; empty if the budget is not spent."""
        if self.trials is not None and len(progress.history) >= self.trials:
            return f"the budget of {self.trials} trials is spent"
        if self.seconds is not None and progress.seconds >= self.seconds:
            return f"the budget of {self.seconds:.6g} s is spent"
        return ""

    @model_validator(mode="after")
    def _some_limit(self) -> Exhaustion:
        if self.trials is None and self.seconds is None:
            raise ValueError("exhaustion needs a limit: give `trials` or `seconds`")
        return self


class Reference(Section):
    """Rule: stop when a good enough value is reached."""

    rule: Literal["reference"]
    value: float | None = Field(None, description="value of the objective to reach")
    percent: float | None = Field(
        None, gt=0, description="percentage of the default's value to reach, e.g. 80: a fifth less"
    )

    def reached(self, progress: Progress) -> str:
        """Return the reason to stop; empty if the reference is not reached."""
        best = progress.best
        if best is None:
            return ""
        if self.value is not None and best <= self.value:
            return f"the best, {best:.6g}, reached the reference {self.value:.6g}"
        if self.percent is not None and progress.default is not None:
            limit = progress.default - (1 - self.percent / 100) * abs(progress.default)
            if best <= limit:
                return f"the best, {best:.6g}, reached {self.percent:.6g} % of the default"
        return ""

    @model_validator(mode="after")
    def _some_reference(self) -> Reference:
        if self.value is None and self.percent is None:
            raise ValueError("reference needs a value to compare with: give `value` or `percent`")
        return self


class Improvement(Section):
    """Rule: stop when the last points improved the best, mean or median value too little."""

    rule: Literal["improvement"]
    of: Literal["best", "mean", "median"] = Field("best", description="statistic of all points so far")
    least: float = Field(0.05, ge=0, description="relative improvement below which to stop")
    window: int = Field(15, ge=1, description="number of last distinct points in which the improvement must occur")
    after: int = Field(
        0, ge=0, description="number of points that are tried in any case, e.g. those of the initial design"
    )

    def reached(self, progress: Progress) -> str:
        """Return the reason to stop; empty if the last points improved the value enough."""
        if len(progress.values) <= self.after + self.window:
            return ""
        if improvement(progress.values, self.window, STATISTICS[self.of]) >= self.least:
            return ""
        return f"the last {self.window} points improved the {self.of} by less than {self.least:.3g}"


class Count(Section):
    """Rule: stop when the last trials evaluated too few distinct points."""

    rule: Literal["count"]
    least: int = Field(2, ge=1, description="number of distinct points below which to stop")
    window: int = Field(15, ge=1, description="number of last trials to check, including repeated ones")

    def reached(self, progress: Progress) -> str:
        """Return the reason to stop; empty if the last trials evaluated enough distinct points."""
        lately = progress.history[-self.window :]
        if len(lately) < self.window or len({progress.space.key(ended.point) for ended in lately}) >= self.least:
            return ""
        return f"the last {self.window} trials were of fewer than {self.least} points"


class Distance(Section):
    """Rule: stop when the last moves, each from one trial's point to the next trial's, were all short."""

    rule: Literal["distance"]
    least: float = Field(
        0.05,
        gt=0,
        description="distance of two consecutive points below which to stop; an axis has width 1, categories are 1 "
        "apart",
    )
    window: int = Field(15, ge=1, description="number of last moves to check")

    def reached(self, progress: Progress) -> str:
        """Return the reason to stop; empty if a move was long enough."""
        lately = [ended.point for ended in progress.history[-self.window - 1 :]]
        if len(lately) <= self.window:
            return ""
        moves = np.diff(encode(progress.space, [progress.space.canonical(point) for point in lately]), axis=0)
        if np.linalg.norm(moves, axis=1).max() >= self.least:
            return ""
        return f"the last {self.window} moves were all shorter than {self.least:.3g}"


class AllOf(Section):
    """Rule: stop when all of its rules are met."""

    rule: Literal["all"]
    rules: list[Rule] = Field(min_length=1)

    def reached(self, progress: Progress) -> str:
        """Return the reasons of all rules; empty if one of them is not met."""
        reasons = [rule.reached(progress) for rule in self.rules]
        return " and ".join(reasons) if all(reasons) else ""


class AnyOf(Section):
    """Rule: stop when one of its rules is met; the first rule that is met gives the reason."""

    rule: Literal["any"] = "any"
    rules: list[Rule] = Field(min_length=1)

    def reached(self, progress: Progress) -> str:
        """Return the reason of the first rule that is met; empty if no rule is met."""
        return next((reason for rule in self.rules if (reason := rule.reached(progress))), "")


Rule = Annotated[Exhaustion | Reference | Improvement | Count | Distance | AllOf | AnyOf, Field(discriminator="rule")]
AllOf.model_rebuild()
AnyOf.model_rebuild()


def rules_of(rules: Sequence[Mapping[str, Any]]) -> AnyOf:
    """Read the list of stop rules in a campaign file; a search stops as soon as any of them is met.

    Raise ValueError with a one-line message if the list is invalid.
    """
    try:
        return AnyOf.model_validate({"rules": list(rules)}, strict=True)
    except ValidationError as error:
        raise ValueError(first_problem(error, AnyOf)) from error


STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "best": min,
    "mean": statistics.fmean,
    "median": statistics.median,
}


def improvement(values: Sequence[float | None], window: int, of: Callable[[Sequence[float]], float]) -> float:
    """Return by how much the last `window` values improved a statistic.

    The improvement is (b - b') / |b|, where b is the statistic of values[:-window] and b' is the statistic of all
    values.

    Points without a value (None) are ignored. The result is infinite if no point before the window has a value, or if b
    is 0 and b' is lower.
    """
    before = [value for value in values[:-window] if value is not None]
    if not before:
        return math.inf
    old, new = of(before), of([value for value in values if value is not None])
    return (old - new) / abs(old) if old else (math.inf if new < old else 0.0)
