# SPDX-License-Identifier: Apache-2.0
"""Methods that make detectors: those of Bez 2020, section 3.3, and gradient boosting.

Differences to the thesis: scikit-learn's trees are CART instead of C5.0; the forest's number of features for a split
has the best out-of-bag kappa instead of that of a cross-validation; the network is trained by Adam, because
scikit-learn has no RMSProp.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import cohen_kappa_score
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from reprise.matcher.detection.detector_scores import SMALLEST, Scores
from reprise.tuner.detection.exported_scores import boosted_trees, forest, network

FOREST_TREES = 500
FOREST_FEATURES = (2, 3, 5)
"""Numbers of features that are tried for a split, as in the thesis."""
HIDDEN = (5, 5)
BATCH, RATE = 32, 0.001
STEPS = 50 * 22_534 // BATCH
"""Steps of the network's training: 50 epochs of the thesis, which had more rows."""
BOOSTING_TREES = 100

Inputs = NDArray[np.float64]
Classes = NDArray[np.int64]
Fit = Callable[[Inputs, Classes, int], Scores]


@dataclass(frozen=True)
class Estimated:
    """Scores of a model that has no file."""

    model: Any
    known: dict[tuple[float, ...], list[float]] = field(default_factory=dict)

    def scores(self, values: Sequence[float]) -> list[float]:
        """Return the classes' scores for the values of the inputs; a call of the model takes milliseconds."""
        if (key := tuple(values)) not in self.known:
            with threadpool_limits(1):
                shares = self.model.predict_proba(np.array([values], dtype=np.float64))[0]
            self.known[key] = [float(np.log(max(share, SMALLEST))) for share in shares]
        return self.known[key]


def fit_tree(inputs: Inputs, classes: Classes, seed: int) -> Scores:
    """Return a decision tree."""
    return forest([DecisionTreeClassifier(random_state=seed).fit(inputs, classes)])


def fit_forest(inputs: Inputs, classes: Classes, seed: int) -> Scores:
    """Return a random forest."""

    def grown(features: int) -> Any:
        return RandomForestClassifier(FOREST_TREES, max_features=features, oob_score=_kappa, random_state=seed).fit(
            inputs, classes
        )

    possible = sorted({min(features, inputs.shape[1]) for features in FOREST_FEATURES})
    best = max(map(grown, possible), key=lambda one: one.oob_score_)
    return forest(best.estimators_)


def fit_network(inputs: Inputs, classes: Classes, seed: int) -> Scores:
    """Return a neural network, behind the transformation of Yeo and Johnson."""
    powers = PowerTransformer(standardize=False).fit(inputs)
    scaler = StandardScaler().fit(powers.transform(inputs))
    epochs = max(1, STEPS * BATCH // len(inputs))
    model = MLPClassifier(
        HIDDEN, batch_size=BATCH, learning_rate_init=RATE, max_iter=epochs, n_iter_no_change=epochs, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of steps is the thesis's
        model.fit(scaler.transform(powers.transform(inputs)), classes)
    return network(powers, scaler, model)


def fit_boosting(inputs: Inputs, classes: Classes, seed: int) -> Scores:
    """Return gradient-boosted trees of xgboost."""
    from xgboost import XGBClassifier

    model = XGBClassifier(
        n_estimators=BOOSTING_TREES, max_depth=4, learning_rate=0.1, base_score=0.5, random_state=seed, n_jobs=1
    )
    return boosted_trees(model.fit(inputs, classes))


def fit_histogram_boosting(inputs: Inputs, classes: Classes, seed: int) -> Scores:
    """Return gradient-boosted trees of scikit-learn, which have no file."""
    with threadpool_limits(1):  # its threads wait for each other in a loop, which takes seconds on a busy machine
        return Estimated(HistGradientBoostingClassifier(random_state=seed).fit(inputs, classes))


METHODS: Mapping[str, Fit] = {
    "tree": fit_tree,
    "forest": fit_forest,
    "network": fit_network,
    **({"boosting": fit_boosting} if find_spec("xgboost") else {}),  # an optional library
    "histogram boosting": fit_histogram_boosting,
}


def _kappa(known: Classes, found: Classes) -> float:
    return float(cohen_kappa_score(known, found))
