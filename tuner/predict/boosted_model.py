# SPDX-License-Identifier: Apache-2.0
"""Gradient boosting of rates over configurations and settings, and how well it tells configurations it has not seen.

The target is the logarithm of the rate, volume over seconds: relative errors count, and sizes differ by orders. Errors
are told in the rate itself. Configurations, not trials, are held out: trials of one configuration are alike, and a
split by trials would show how well it remembers (Agarwal et al. 2019 split by trials).
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reprise.tuner.model.space import Parametrization
from reprise.tuner.predict.training_rows import Row

FOLDS = 10
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "xgboost": {
        "n_estimators": 400,
        "max_depth": 6,
        "learning_rate": 0.05,
        "subsample": 0.8,
        "min_child_weight": 2,
        "tree_method": "exact",  # others cut at values that were seen: what lies between two is like the lower one
    },
    "scikit-learn": {"max_iter": 200, "max_depth": 6, "learning_rate": 0.08, "min_samples_leaf": 4},
}
"""What each engine is told; its seed is 0."""


@dataclass(frozen=True)
class Quality:
    """Of configurations held out: the median of |predicted - measured| / measured of the rate, in percent, and the
    coefficient of determination (1 at most, negative where the mean would be better); None with too few of them."""

    mdape: float | None
    r2: float | None


def engine() -> str:
    """xgboost where it is installed, scikit-learn otherwise."""
    return "xgboost" if importlib.util.find_spec("xgboost") else "scikit-learn"


def version(name: str) -> str:
    """The engine with its release, e.g. "xgboost 3.2.0"."""
    module = importlib.import_module({"scikit-learn": "sklearn"}.get(name, name))
    return f"{name} {module.__version__}"


class Columns:
    """What numbers a configuration and a setting are: numbers as they are, of texts an indicator for each value."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._numbers = sorted({name for row in rows for name in row.configuration})
        seen = {(name, value) for row in rows for name, value in row.point.items()}
        self._texts = sorted((name, value) for name, value in seen if isinstance(value, str))
        self._values = sorted({name for name, value in seen if not isinstance(value, str)})

    def of(self, configuration: Mapping[str, float], point: Parametrization) -> list[float]:
        """Missing numbers are NaN, which both engines know."""
        return [
            *(configuration.get(name, float("nan")) for name in self._numbers),
            *(float(point.get(name, float("nan"))) for name in self._values),
            *(float(point.get(name) == value) for name, value in self._texts),
        ]


class Model:
    """Fitted to rows for one of their metrics. Same rows, same engine and release: same model."""

    def __init__(self, rows: Sequence[Row], target: str, name: str, settings: Mapping[str, Any] | None = None) -> None:
        self._columns = Columns(rows)
        self._regressor = _regressor(name, settings or SETTINGS[name])
        self._regressor.fit(self._matrix([(row.configuration, row.point) for row in rows]), _targets(rows, target))

    def rates(self, asked: Sequence[tuple[Mapping[str, float], Parametrization]]) -> list[float]:
        """Volume a second of each configuration with each setting."""
        return [float(value) for value in np.exp(self._regressor.predict(self._matrix(asked)))]

    def _matrix(self, asked: Sequence[tuple[Mapping[str, float], Parametrization]]) -> Any:
        return np.array([self._columns.of(configuration, point) for configuration, point in asked])


def quality(rows: Sequence[Row], target: str, name: str, settings: Mapping[str, Any] | None = None) -> Quality:
    """By models that have not seen the configurations that they are asked about, each asked about once."""
    keys = list(dict.fromkeys(row.key for row in rows))
    if len(keys) < 2:
        return Quality(None, None)
    order = np.random.default_rng(0).permutation(len(keys))
    folds = min(FOLDS, len(keys))
    fold_of = {keys[int(index)]: place % folds for place, index in enumerate(order)}
    measured: list[float] = []
    predicted: list[float] = []
    for fold in range(folds):
        held_out = [row for row in rows if fold_of[row.key] == fold]
        model = Model([row for row in rows if fold_of[row.key] != fold], target, name, settings)
        predicted += model.rates([(row.configuration, row.point) for row in held_out])
        measured += [row.volume / row.metrics[target] for row in held_out]
    return Quality(mdape(measured, predicted), r_squared(measured, predicted))


def mdape(measured: Sequence[float], predicted: Sequence[float]) -> float:
    """The median absolute percentage error, in percent."""
    return float(np.median([100 * abs(p - m) / m for m, p in zip(measured, predicted, strict=True)]))


def r_squared(measured: Sequence[float], predicted: Sequence[float]) -> float | None:
    """1 - residual sum of squares / total sum of squares; None where all that was measured is the same."""
    mean = float(np.mean(measured))
    total = sum((m - mean) ** 2 for m in measured)
    if not total:
        return None
    return float(1 - sum((m - p) ** 2 for m, p in zip(measured, predicted, strict=True)) / total)


def _targets(rows: Sequence[Row], target: str) -> Any:
    return np.log([row.volume / row.metrics[target] for row in rows])


def _regressor(name: str, settings: Mapping[str, Any]) -> Any:
    if name == "xgboost":
        import xgboost

        return xgboost.XGBRegressor(**settings, random_state=0, n_jobs=1)
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(**settings, random_state=0, early_stopping=False)
