# SPDX-License-Identifier: Apache-2.0
"""A detector that was made by training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprise.matcher.council.pattern_detector import AccessClass, Detection, Features
from reprise.matcher.detection.detector_inputs import inputs, problem
from reprise.matcher.detection.detector_scores import Scores, probabilities


@dataclass(frozen=True)
class Answer:
    """Answer of a detector.

    Args:
        found: The class; None if it is unknown.
        probability: Calibrated probability of the most likely class; None if there is none.
        reason: Reason why the class is unknown; "" otherwise.
    """

    found: AccessClass | None
    probability: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class LearnedDetector:
    """A detector that was made by training.

    Args:
        name: Name of the method, such as "forest".
        inputs: Names of the inputs of `scores`.
        classes: Classes in the order of the scores.
        scores: Computes scores from the inputs.
        temperature: Divisor of the scores that calibrates the probabilities.
        least: A class with a smaller probability is unknown.
        ranges: For each class, the smallest and the largest value of each input with which it may be answered.
        evidence: How the detector was made, and how good it is, for people.
    """

    name: str
    inputs: Sequence[str]
    classes: Sequence[AccessClass]
    scores: Scores
    temperature: float
    least: float
    ranges: Mapping[AccessClass, Sequence[tuple[float, float]]]
    evidence: Mapping[str, Any]

    def detect(self, features: Features) -> Detection | None:
        """Return the class of a pattern with these features; None if it is unknown."""
        answer = self.answer(features)
        return (
            None if answer.found is None or answer.probability is None else Detection(answer.found, answer.probability)
        )

    def answer(self, features: Features) -> Answer:
        """Return the class of a pattern with these features, or the reason why it is unknown.

        Features with values of any type have an answer, since they come from other hosts.
        """
        if why := problem(features):
            return Answer(None, None, why)
        values = inputs(self.inputs, features)
        try:
            found = self.probabilities(values)
        except (OverflowError, ValueError):  # a network's numbers may become too large far outside of its data
            found = [math.nan]
        if not all(map(math.isfinite, found)):
            return Answer(None, None, "the features are far outside of those in training")
        probability = max(found)
        likely = self.classes[found.index(probability)]
        for name, value, (low, high) in zip(self.inputs, values, self.ranges[likely], strict=True):
            if not low <= value <= high:
                return Answer(
                    None, None, f"{name} is {value:.4g}, and {low:.4g} to {high:.4g} with {likely} in training"
                )
        if probability < self.least:
            return Answer(None, probability, f"{likely} has a probability of {probability:.2f} only")
        return Answer(likely, probability)

    def probabilities(self, values: Sequence[float]) -> list[float]:
        """Return the calibrated probabilities of the classes for the values of the inputs."""
        return probabilities(self.scores.scores(values), self.temperature)
