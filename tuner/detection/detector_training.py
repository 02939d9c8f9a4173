# SPDX-License-Identifier: Apache-2.0
"""Make detectors from recorded features, and choose the best one (Bez 2020, section 3.3).

A method is fitted to the training set. Its probabilities are calibrated with rows of the training set that models of
other runs judge. The test set has other seconds of the same runs. The validation set has runs with sizes of requests
that no detector was trained with. The detector with the fewest errors there is chosen; among equals, the one with the
fewest answers "unknown", and then the one with the smallest log loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from reprise.matcher.council.pattern_detector import AccessClass
from reprise.matcher.detection import recorded_features
from reprise.matcher.detection.detector_inputs import AS_MEASURED, RELATIVE, inputs
from reprise.matcher.detection.detector_scores import Scores, probabilities
from reprise.matcher.detection.learned_detector import LearnedDetector
from reprise.tuner.detection.candidate_detectors import METHODS, Estimated, Fit
from reprise.tuner.detection.detector_quality import Quality, quality
from reprise.tuner.detection.labelled_rows import Row, centres, folds, split

LEAST = 0.9
"""Smallest probability with which a class is answered."""
ABOVE, BELOW = 4.0, 2.0
"""Factors by which an input may exceed the range that its class had in training, and be below it.

Systems are larger than those of the training more often than smaller. With a factor of 4 below, processes that are
alone at a forwarder, whose distance is 0, would be in the range of strides between few processes.
"""
CLASSES = tuple(AccessClass)
TEMPERATURES = tuple(0.05 * 1.05**step for step in range(130))  # 0.05 to 27
LIBRARIES = ("numpy", "sklearn", "xgboost")


@dataclass(frozen=True)
class Rows:
    """Rows of recorded features: training set, test set and validation set."""

    training: Sequence[Row]
    test: Sequence[Row]
    validation: Sequence[Row]


@dataclass(frozen=True)
class Judged:
    """A detector with its quality on the test set and on the validation set; `ships` is False if it has no file."""

    detector: LearnedDetector
    test: Quality
    validation: Quality

    @property
    def ships(self) -> bool:
        """Return whether the detector can be written to a file."""
        return not isinstance(self.detector.scores, Estimated)


def rows_of(
    training: Iterable[bytes], name: str, validation: Iterable[bytes], validation_name: str, per_run: int, seed: int
) -> Rows:
    """Return the rows in the lines of two files with recorded features, whose names are given for errors.

    Raise DetectorError for a wrong line, and TunerError if a class is missing.
    """
    known = centres(recorded_features.read(training, name), per_run, name)
    unseen = centres(recorded_features.read(validation, validation_name), per_run, validation_name)
    return Rows(*split(known, seed), unseen)


def candidates(rows: Rows, seed: int) -> Iterator[Judged]:
    """Yield a detector of each method, with the features as measured and with relative ones."""
    for names, suffix in ((AS_MEASURED, ""), (RELATIVE, " relative")):
        for method, fit in METHODS.items():
            detector = _made(f"{method}{suffix}", names, fit, rows.training, seed)
            yield Judged(detector, quality(detector, rows.test), quality(detector, rows.validation))


def chosen(judged: Sequence[Judged]) -> Judged:
    """Return the detector to use, among those that can be written to a file."""

    def badness(one: Judged) -> tuple[int, int, float]:
        return one.validation.wrong, one.validation.unknown, one.validation.log_loss

    return min((one for one in judged if one.ships), key=badness)


def with_evidence(one: Judged, judged: Sequence[Judged], rows: Rows, data: Mapping[str, Any]) -> LearnedDetector:
    """Return a detector with the evidence for it; `data` describes the recorded features."""
    evidence = {
        "data": dict(data),
        "rows": {"training": len(rows.training), "test": len(rows.test), "validation": len(rows.validation)},
        "runs": {
            "training": len({row.run for row in rows.training}),
            "validation": len({row.run for row in rows.validation}),
        },
        "test": one.test.to_json(),
        "validation": one.validation.to_json(),
        "validation_wrong": {other.detector.name: other.validation.wrong for other in judged},
        "libraries": {name: import_module(name).__version__ for name in LIBRARIES if find_spec(name)},
    }
    return replace(one.detector, evidence=evidence)


def _made(name: str, names: Sequence[str], fit: Fit, training: Sequence[Row], seed: int) -> LearnedDetector:
    judged = [
        (scores.scores(inputs(names, row.features)), CLASSES.index(row.known))
        for fitted, held in folds(training, seed)
        for scores in [_fitted(names, fit, fitted, seed)]
        for row in held
    ]
    ranges = {
        one: _range(names, np.array([inputs(names, row.features) for row in training if row.known is one]))
        for one in CLASSES
    }
    temperature = _temperature(judged, len({row.run for row in training}))
    return LearnedDetector(name, names, CLASSES, _fitted(names, fit, training, seed), temperature, LEAST, ranges, {})


def _fitted(names: Sequence[str], fit: Fit, rows: Sequence[Row], seed: int) -> Scores:
    values = np.array([inputs(names, row.features) for row in rows])
    return fit(values, np.array([CLASSES.index(row.known) for row in rows]), seed)


def _range(names: Sequence[str], values: np.ndarray[Any, Any]) -> list[tuple[float, float]]:
    """Return the bounds of each input of a class, with the margins."""
    found = []
    for name, low, high in zip(names, values.min(axis=0), values.max(axis=0), strict=True):
        if name in RELATIVE:
            found.append((float(low) - math.log2(BELOW), float(high) + math.log2(ABOVE)))
        else:
            found.append((float(low) / BELOW, float(high) * ABOVE))
    return found


def _temperature(judged: Sequence[tuple[Sequence[float], int]], runs: int) -> float:
    """Return the temperature with the smallest log loss on rows with scores and classes, which are from some runs.

    Without errors among them, it would become zero, and all probabilities one. So their targets are not one and zero:
    (runs + 1) / (runs + 2) for the right class, as Platt (2000) proposes for two classes. Rows of a run are similar, so
    the runs count, and not the rows.
    """
    target = (runs + 1) / (runs + 2)
    other = (1 - target) / (len(CLASSES) - 1)

    def loss(temperature: float) -> float:
        total = 0.0
        for scores, place in judged:
            for index, share in enumerate(probabilities(scores, temperature)):
                total -= (target if index == place else other) * math.log(max(share, 1e-300))
        return total

    return min(TEMPERATURES, key=loss)
