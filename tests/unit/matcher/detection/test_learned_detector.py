# SPDX-License-Identifier: Apache-2.0
"""Test the answers of a detector."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.matcher.council.access_pattern import Files, Operation
from reprise.matcher.council.pattern_detector import AccessClass, Detector, Features, detected_pattern
from reprise.matcher.detection.detector_scores import Layer, Network
from reprise.matcher.detection.learned_detector import Answer, LearnedDetector
from tests.unit.detection_values import KIB, detector

FPP, SC, SS = AccessClass
SIZE = 32 * KIB


def at(files: int, distance: float) -> Features:
    return Features(Operation.READ, files, SIZE, SIZE, SIZE, distance * SIZE)


@pytest.mark.parametrize(("features", "found"), [(at(8, 0), FPP), (at(1, 1000), SC), (at(1, 10), SS)])
def test_the_most_likely_class_is_found(features: Features, found: AccessClass) -> None:
    assert vars(detector().answer(features)) == {"found": found, "probability": pytest.approx(0.98), "reason": ""}
    detection = detector().detect(features)
    assert detection and detection.found is found and detection.probability == pytest.approx(0.98)


def test_a_class_with_a_small_probability_is_unknown() -> None:
    found = replace(detector(), least=0.99).answer(at(8, 0))
    assert found.found is None and found.probability == pytest.approx(0.98)
    assert found.reason == "individual has a probability of 0.98 only"


def test_features_far_outside_of_the_training_are_unknown() -> None:
    """Processes that stride through files of their own look like no class, though a tree must choose one."""
    found = detector().answer(at(8, 10))
    assert found == Answer(None, None, "log2_distance is 3.459, and 0 to 1 with individual in training")
    assert detector().answer(at(100_000, 0)).found is None
    assert detector().answer(at(1, 1e9)).found is None
    assert detector().answer(at(1, 0)).found is None  # one process alone: any class


def test_missing_features_are_unknown() -> None:
    lacking = replace(at(1, 10), distance_mean=None)
    assert detector().answer(lacking) == Answer(None, None, "distance_mean is unknown")
    assert detector().detect(lacking) is None


ANYTHING = st.one_of(st.none(), st.floats(), st.integers(), st.booleans(), st.text(max_size=3))


@given(st.builds(Features, st.just(Operation.READ), ANYTHING, ANYTHING, ANYTHING, ANYTHING, ANYTHING))
def test_no_features_raise_an_exception(features: Any) -> None:
    found = detector().answer(features)
    assert bool(found.reason) == (found.found is None)


def test_a_network_that_overflows_answers_unknown() -> None:
    network = Network([300.0] * 2, [0.0] * 2, [1.0] * 2, [Layer([[1.0] * 2] * 3, [0.0] * 3)])
    assert replace(detector(), scores=network).answer(at(8, 1e9)).reason.endswith("those in training")


def test_temperature_changes_probabilities_and_no_order() -> None:
    one: LearnedDetector = detector()
    values = [3.0, 0.0]
    hot, cold = (replace(one, temperature=degrees).probabilities(values) for degrees in (10.0, 0.1))
    assert hot.index(max(hot)) == cold.index(max(cold)) == 0 and max(hot) < 0.6 < 0.999 < max(cold)


def test_a_pattern_has_the_parts_of_the_class_and_the_class_of_the_size() -> None:
    one: Detector = detector()
    features = replace(at(1, 10), operation=Operation.WRITE)
    pattern = detected_pattern(one, features)
    assert pattern and (str(pattern), pattern.files) == ("write/shared/strided/16K", Files.SHARED)
    assert detected_pattern(one, replace(features, distance_mean=None)) is None
