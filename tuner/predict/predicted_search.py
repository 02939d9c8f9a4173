# SPDX-License-Identifier: Apache-2.0
"""Search for the best setting of a configuration that was never run, with models instead of runs (PrAct)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reprise.database.entities import Prediction
from reprise.tuner.errors import TunerError
from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.predict import accuracy_gate
from reprise.tuner.predict.boosted_model import Model
from reprise.tuner.predict.training_rows import VOLUME, from_json


@dataclass(frozen=True)
class Found:
    """The best point, and the predicted times of this point and of the default, as weighted sums of parts."""

    point: Parametrization
    seconds: float
    default_seconds: float

    @property
    def gain(self) -> float:
        """Predicted gain over the default."""
        return 1 - self.seconds / self.default_seconds


class Oracle:
    """Models that `accuracy_gate` accepts for one configuration. `weights`: the weight of each part of the objective.

    Raise TunerError if a model is missing or refused, or if the configuration is outside a model's range.
    """

    def __init__(
        self, models: Mapping[str, Prediction], weights: Mapping[str, float], configuration: Mapping[str, float]
    ) -> None:
        self._configuration = configuration
        self._parts: list[tuple[float, Model]] = []
        for target, weight in weights.items():
            if not weight:
                continue
            stored = models.get(target)
            if stored is None:
                raise TunerError(f"there is no model of {target}: run `reprise tune predict train FAMILY`")
            if stored.refused:
                raise TunerError(f"model {stored.id} of {target} cannot be used: {stored.refused}")
            rows = from_json(stored.rows)
            if problem := accuracy_gate.outside(rows, configuration):
                raise TunerError(f"model {stored.id} of {target} cannot be used: {problem}")
            self._parts.append((weight, Model(rows, target, stored.engine.split()[0], stored.settings)))

    def seconds(self, points: Sequence[Parametrization]) -> list[float]:
        """Return the predicted time of each point: the weighted sum of the parts."""
        volume = self._configuration.get(VOLUME, 1.0)
        total = [0.0] * len(points)
        for weight, model in self._parts:
            rates = model.rates([(self._configuration, point) for point in points])
            total = [sum_ + weight * volume / rate for sum_, rate in zip(total, rates, strict=True)]
        return total


def search(oracle: Oracle, space: Space, default: Parametrization) -> Found:
    """Return the best point of the whole grid, or the default if none is better.

    No search method is used, because models predict a thousand points in the time that such a method takes to choose
    one point.
    """
    points = [default, *space.points]
    seconds = oracle.seconds(points)
    best = min(range(len(points)), key=seconds.__getitem__)
    return Found(points[best], seconds[best], seconds[0])
