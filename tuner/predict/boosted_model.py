# SPDX-License-Identifier: Apache-2.0
"""Model that predicts rates from configurations and settings by gradient boosting, and a measure of its accuracy.

The accuracy applies to configurations without training data. The target is the logarithm of the rate (volume per
second), because relative errors matter and sizes differ by orders of magnitude. Errors are reported for the rate
itself. For cross-validation, whole configurations are held out, not single trials: trials of one configuration are
similar, so a split by trials, as in Agarwal et al. 2019, would only show how well the model remembers.
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
        # xgboost's other tree methods split at observed values, so a value between two observed ones would be treated
        # as the lower one.
        "tree_method": "exact",
    },
    "scikit-learn": {"max_iter": 200, "max_depth": 6, "learning_rate": 0.08, "min_samples_leaf": 4},
}
"""Parameters of each engine; the seed is always 0."""


@dataclass(frozen=True)
class Quality:
    """Accuracy for held-out configurations; None if there are too few configurations.

    `mdape`: median of |predicted - measured| / measured of the rate, in percent. `r2`: coefficient of determination (at
    most 1; negative if the measurements' mean would predict better).
    """

    mdape: float | None
    r2: float | None


def engine() -> str:
    """Return xgboost if it is installed, otherwise scikit-learn."""
    return "xgboost" if importlib.util.find_spec("xgboost") else "scikit-learn"


def version(name: str) -> str:
    """Return the engine's name and release, e.g. "xgboost 3.2.0"."""
    module = importlib.import_module({"scikit-learn": "sklearn"}.get(name, name))
    return f"{name} {module.__version__}"


class Columns:
    """Encoding of a configuration and a setting: numbers unchanged, texts as an indicator for each value."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._numbers = sorted({name for row in rows for name in row.configuration})
        seen = {(name, value) for row in rows for name, value in row.point.items()}
        self._texts = sorted((name, value) for name, value in seen if isinstance(value, str))
        self._values = sorted({name for name, value in seen if not isinstance(value, str)})

    def of(self, configuration: Mapping[str, float], point: Parametrization) -> list[float]:
        """Return the columns of a configuration and a point. Missing numbers are NaN, which both engines support."""
        return [
            *(configuration.get(name, float("nan")) for name in self._numbers),
            *(float(point.get(name, float("nan"))) for name in self._values),
            *(float(point.get(name) == value) for name, value in self._texts),
        ]


class Model:
    """A model fitted to rows for one of their metrics. Equal rows and an equal engine release give an equal model."""

    def __init__(self, rows: Sequence[Row], target: str, name: str, settings: Mapping[str, Any] | None = None) -> None:
        self._columns = Columns(rows)
        self._regressor = _regressor(name, settings or SETTINGS[name])
        self._regressor.fit(self._matrix([(row.configuration, row.point) for row in rows]), _targets(rows, target))

    def rates(self, asked: Sequence[tuple[Mapping[str, float], Parametrization]]) -> list[float]:
        """Return the predicted volume per second for each pair of a configuration and a setting."""
        return [float(value) for value in np.exp(self._regressor.predict(self._matrix(asked)))]

    def _matrix(self, asked: Sequence[tuple[Mapping[str, float], Parametrization]]) -> Any:
        return np.array([self._columns.of(configuration, point) for configuration, point in asked])


def quality(rows: Sequence[Row], target: str, name: str, settings: Mapping[str, Any] | None = None) -> Quality:
    """Return the accuracy of models for held-out configurations, by cross-validation over all configurations."""
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
    """Return the median absolute percentage error, in percent."""
    return float(np.median([100 * abs(p - m) / m for m, p in zip(measured, predicted, strict=True)]))


def r_squared(measured: Sequence[float], predicted: Sequence[float]) -> float | None:
    """Return 1 - residual sum of squares / total sum of squares; None if all measurements are equal."""
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
