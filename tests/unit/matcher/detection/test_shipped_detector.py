# SPDX-License-Identifier: Apache-2.0
"""Test the detector of Reprise on patterns that no training data had."""

from __future__ import annotations

import pytest

from reprise.matcher.council.access_pattern import Operation
from reprise.matcher.council.pattern_detector import AccessClass, Features
from reprise.matcher.detection import detector_file

KIB = 1024
FPP, SC, SS = AccessClass


def features(files: int, distance: float, size: int = 32 * KIB) -> Features:
    """Return features of requests of equal size; the distance is in requests."""
    return Features(Operation.READ, files, size, size, size, distance * size)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (features(16, 0), FPP),
        (features(100, 0), FPP),
        (features(1, 20), SS),
        (features(1, 20, 8192 * KIB), SS),
        (features(1, 20_000), SC),
        (features(1, 20_000, 4 * KIB), SC),
        (features(1, 0), None),  # a process that is alone
        (features(16, 500), None),  # strides in individual files
        (features(16, 1e6), None),
        (features(10_000, 0), None),
        (features(1, 1e9), None),
    ],
)
def test_patterns_outside_of_the_classes_are_unknown(given: Features, found: AccessClass | None) -> None:
    answer = detector_file.read().answer(given)
    assert answer.found is found, answer


def test_its_evidence_names_data_and_errors() -> None:
    evidence = detector_file.read().evidence
    assert {"data", "rows", "runs", "test", "validation", "validation_wrong", "libraries"} == set(evidence)
    assert evidence["test"]["accuracy"] >= 0.997
