# SPDX-License-Identifier: Apache-2.0
"""The best setting of a configuration that was never run, by asking models instead of running it (PrAct)."""

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
    """The best point of all. `seconds` and `default_seconds`: the weighted sums, as predicted."""

    point: Parametrization
    seconds: float
    default_seconds: float

    @property
    def gain(self) -> float:
        return 1 - self.seconds / self.default_seconds


class Oracle:
    """Models that have passed the gate, for one configuration. `weights`: what each part counts. Raises TunerError
    where one is missing or refused, or the configuration is outside of what they know."""

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
                raise TunerError(f"model {stored.id} of {target} is not asked: {stored.refused}")
            rows = from_json(stored.rows)
            if problem := accuracy_gate.outside(rows, configuration):
                raise TunerError(f"model {stored.id} of {target} is not asked: {problem}")
            self._parts.append((weight, Model(rows, target, stored.engine.split()[0], stored.settings)))

    def seconds(self, points: Sequence[Parametrization]) -> list[float]:
        """What each would take: the weighted sum of the parts."""
        volume = self._configuration.get(VOLUME, 1.0)
        total = [0.0] * len(points)
        for weight, model in self._parts:
            rates = model.rates([(self._configuration, point) for point in points])
            total = [sum_ + weight * volume / rate for sum_, rate in zip(total, rates, strict=True)]
        return total


def search(oracle: Oracle, space: Space, default: Parametrization) -> Found:
    """The whole grid is asked about: models answer for a thousand points in the time that a search method takes to
    choose one. Where nothing is better than the default, the default."""
    points = [default, *space.points]
    seconds = oracle.seconds(points)
    best = min(range(len(points)), key=seconds.__getitem__)
    return Found(points[best], seconds[best], seconds[0])
