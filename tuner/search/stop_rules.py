# SPDX-License-Identifier: Apache-2.0
"""When a search has found what it will find: the stop rules of Robert 2021, section 3.5, and their combination.

All but `exhaustion` look at points, not at trials: a point that was evaluated several times counts once, with its mean,
so that measuring again neither improves anything nor spends a rule's window.
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
    """Stop at `budget` trials, or when the last `window` of them improved the best value by less than `improvement`.

    The second rule is first tested after more than `initial` + `window` trials. A flat objective with 10 initial points
    and a window of 15 therefore stops after 26 trials.
    """

    initial: int = 10
    budget: int = 150
    window: int = 15
    improvement: float = 0.01

    def reached(self, values: Sequence[float | None]) -> str:
        """Why to stop, in one line; empty while the search should go on. None stands for a failed trial."""
        if len(values) >= self.budget:
            return f"the budget of {self.budget} trials is spent"
        if self.window == 0 or len(values) <= self.initial + self.window:
            return ""
        if improvement(values, self.window, min) >= self.improvement:
            return ""
        return f"the last {self.window} trials improved the best by less than {self.improvement:.3g}"


class Ended(Protocol):
    """A trial that ended. `value`: lower is better, None where it failed, a lower bound where `censored`."""

    @property
    def point(self) -> Parametrization: ...
    @property
    def value(self) -> float | None: ...
    @property
    def censored(self) -> bool: ...


@dataclass(frozen=True)
class Progress:
    """What rules look at: the trials so far, in the order in which they ended, seconds since the search began, and
    the default's value where it is known."""

    space: Space
    history: Sequence[Ended]
    seconds: float = 0.0
    default: float | None = None

    @cached_property
    def values(self) -> Sequence[float | None]:
        """The mean of each distinct point, in the order of their first trials; None where it has none."""
        told = Told(self.space)
        for ended in self.history:
            told.tell(ended.point, ended.value, ended.censored)
        return [observation.mean for observation in told.observations.values()]

    @property
    def best(self) -> float | None:
        return min((value for value in self.values if value is not None), default=None)


class Exhaustion(Section):
    """The budget is spent."""

    rule: Literal["exhaustion"]
    trials: int | None = Field(None, ge=1, description="trials, repeated ones too")
    seconds: float | None = Field(None, gt=0, description="since the search began")

    def reached(self, progress: Progress) -> str:
        if self.trials is not None and len(progress.history) >= self.trials:
            return f"the budget of {self.trials} trials is spent"
        if self.seconds is not None and progress.seconds >= self.seconds:
            return f"the budget of {self.seconds:.6g} s is spent"
        return ""

    @model_validator(mode="after")
    def _some_limit(self) -> Exhaustion:
        if self.trials is None and self.seconds is None:
            raise ValueError("an exhaustion without a limit never comes: give `trials` or `seconds`")
        return self


class Reference(Section):
    """What is good enough is reached."""

    rule: Literal["reference"]
    value: float | None = Field(None, description="of the objective")
    percent: float | None = Field(None, gt=0, description="of the default's value, e.g. 80: a fifth less")

    def reached(self, progress: Progress) -> str:
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
            raise ValueError("a reference needs something to be compared with: give `value` or `percent`")
        return self


class Improvement(Section):
    """The last points improved too little."""

    rule: Literal["improvement"]
    of: Literal["best", "mean", "median"] = Field("best", description="of all points so far")
    least: float = Field(0.05, ge=0, description="relative improvement below which to stop")
    window: int = Field(15, ge=1, description="distinct points within which it must come")
    after: int = Field(0, ge=0, description="points that are tried in any case, e.g. those of the initial design")

    def reached(self, progress: Progress) -> str:
        if len(progress.values) <= self.after + self.window:
            return ""
        if improvement(progress.values, self.window, STATISTICS[self.of]) >= self.least:
            return ""
        return f"the last {self.window} points improved the {self.of} by less than {self.least:.3g}"


class Count(Section):
    """The search moves between too few points."""

    rule: Literal["count"]
    least: int = Field(2, ge=1, description="distinct points below which to stop")
    window: int = Field(15, ge=1, description="trials that are looked at, repeated ones too")

    def reached(self, progress: Progress) -> str:
        lately = progress.history[-self.window :]
        if len(lately) < self.window or len({progress.space.key(ended.point) for ended in lately}) >= self.least:
            return ""
        return f"the last {self.window} trials were of fewer than {self.least} points"


class Distance(Section):
    """The search hardly moves."""

    rule: Literal["distance"]
    least: float = Field(0.05, gt=0, description="of two points in a row; an axis is 1 wide, categories are 1 apart")
    window: int = Field(15, ge=1, description="moves that are looked at")

    def reached(self, progress: Progress) -> str:
        lately = [ended.point for ended in progress.history[-self.window - 1 :]]
        if len(lately) <= self.window:
            return ""
        moves = np.diff(encode(progress.space, [progress.space.canonical(point) for point in lately]), axis=0)
        if np.linalg.norm(moves, axis=1).max() >= self.least:
            return ""
        return f"the last {self.window} moves were all shorter than {self.least:.3g}"


class AllOf(Section):
    """Every one of its rules says so."""

    rule: Literal["all"]
    rules: list[Rule] = Field(min_length=1)

    def reached(self, progress: Progress) -> str:
        reasons = [rule.reached(progress) for rule in self.rules]
        return " and ".join(reasons) if all(reasons) else ""


class AnyOf(Section):
    """One of its rules says so; the first that does gives the reason."""

    rule: Literal["any"] = "any"
    rules: list[Rule] = Field(min_length=1)

    def reached(self, progress: Progress) -> str:
        return next((reason for rule in self.rules if (reason := rule.reached(progress))), "")


Rule = Annotated[Exhaustion | Reference | Improvement | Count | Distance | AllOf | AnyOf, Field(discriminator="rule")]
AllOf.model_rebuild()
AnyOf.model_rebuild()


def rules_of(rules: Sequence[Mapping[str, Any]]) -> AnyOf:
    """A campaign file's list of rules, any of which stops a search. Raises ValueError with one line."""
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
    """By how much the last `window` values improved a statistic: (b - b') / |b|, b of values[:-window], b' of all.

    None stands for a point without a value. Infinite where there was none before the window, or b is 0 and b' lower.
    """
    before = [value for value in values[:-window] if value is not None]
    if not before:
        return math.inf
    old, new = of(before), of([value for value in values if value is not None])
    return (old - new) / abs(old) if old else (math.inf if new < old else 0.0)
