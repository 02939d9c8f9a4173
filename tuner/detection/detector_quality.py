# SPDX-License-Identifier: Apache-2.0
"""Quality of a detector on rows whose class is known."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any

from reprise.matcher.detection.detector_inputs import inputs
from reprise.matcher.detection.detector_scores import SMALLEST
from reprise.matcher.detection.learned_detector import LearnedDetector
from reprise.tuner.detection.labelled_rows import Row

BINS = 10
"""Number of equal intervals of the probability in the calibration error (Guo et al. 2017)."""


@dataclass(frozen=True)
class Quality:
    """Quality of a detector on `rows` rows.

    Args:
        rows: Number of rows.
        wrong: Rows whose most likely class is wrong, also if the answer is "unknown".
        answered_wrong: Rows with a wrong answer.
        unknown: Rows with the answer "unknown".
        log_loss: Mean negative logarithm of the probability of the right class.
        calibration_error: Expected calibration error: the mean difference between probability and share of right ones.
    """

    rows: int
    wrong: int
    answered_wrong: int
    unknown: int
    log_loss: float
    calibration_error: float

    @property
    def accuracy(self) -> float:
        """Return the share of rows whose most likely class is right."""
        return 1 - self.wrong / self.rows

    @property
    def right(self) -> float:
        """Return the share of rows with a right answer."""
        return 1 - (self.answered_wrong + self.unknown) / self.rows

    def to_json(self) -> dict[str, Any]:
        """Return the quality as a JSON object."""
        found = {**asdict(self), "accuracy": self.accuracy, "right": self.right}
        return {name: value if isinstance(value, int) else round(value, 5) for name, value in found.items()}


def quality(detector: LearnedDetector, rows: Sequence[Row]) -> Quality:
    """Return a detector's quality on one row or more."""
    found = [detector.answer(row.features).found for row in rows]
    shares = [detector.probabilities(inputs(detector.inputs, row.features)) for row in rows]
    places = [detector.classes.index(row.known) for row in rows]
    likely = [max(share) for share in shares]
    right = [share[place] == most for share, place, most in zip(shares, places, likely, strict=True)]
    return Quality(
        rows=len(rows),
        wrong=right.count(False),
        answered_wrong=sum(one not in (None, row.known) for one, row in zip(found, rows, strict=True)),
        unknown=found.count(None),
        log_loss=fmean(-math.log(max(share[place], SMALLEST)) for share, place in zip(shares, places, strict=True)),
        calibration_error=_calibration_error(likely, right),
    )


def _calibration_error(likely: Sequence[float], right: Sequence[bool]) -> float:
    total = 0.0
    for index in range(BINS):
        inside = [
            (share, is_right)
            for share, is_right in zip(likely, right, strict=True)
            if min(int(share * BINS), BINS - 1) == index
        ]
        if inside:
            total += abs(sum(share for share, _ in inside) - sum(is_right for _, is_right in inside))
    return total / len(likely)


def detect_ms(detector: LearnedDetector, rows: Sequence[Row], most: int = 500) -> float:
    """Return the median time of a detection in milliseconds, on at most this many rows."""
    times = []
    for row in rows[:: max(1, len(rows) // most)]:
        begun = time.perf_counter()
        detector.detect(row.features)
        times.append(time.perf_counter() - begun)
    return 1e3 * median(times)
