# SPDX-License-Identifier: Apache-2.0
"""Test which pattern a forwarder's bandwidth is credited to, and the rule of the simple detector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from reprise.matcher.council.access_pattern import Pattern
from reprise.matcher.council.pattern_detector import AccessClass, Detection, Detector, Features
from reprise.matcher.windows.dominant_pattern import MOST_DETECTIONS, classified, dominant_pattern
from reprise.matcher.windows.report_message import Measured
from tests.unit.matcher.windows.simple_detector import SimpleDetector
from tests.unit.matcher.windows.windows_values import CONTIGUOUS, INDIVIDUAL, STRIDED, message, pattern


def found(*patterns: dict[str, Any]) -> str:
    return str(dominant(message(patterns=list(patterns)).measured, SimpleDetector()))


def dominant(measured: Sequence[Measured], detector: Detector) -> Pattern | None:
    return dominant_pattern(classified(measured, detector), sum(one.bytes for one in measured))


@pytest.mark.parametrize(
    ("features", "text"),
    [
        (STRIDED, "shared/strided/16K"),
        (CONTIGUOUS, "shared/contiguous/16K"),
        (INDIVIDUAL, "per-process/contiguous/16K"),
        ({**STRIDED, "request_mean": 4194304.0}, "shared/strided/4M"),
        ({**STRIDED, "distance_mean": 0.0}, "shared/contiguous/16K"),  # one process reads a file
    ],
)
def test_the_rule_tells_the_three_classes_apart(features: dict[str, Any], text: str) -> None:
    assert found(pattern(**features)) == f"write/{text}"
    assert found(pattern(operation="read", **features)) == f"read/{text}"


def test_a_file_with_one_request_has_no_known_pattern() -> None:
    assert found(pattern(distance_mean=None)) == "None"
    assert found(pattern(files=2, distance_mean=None)) == "write/per-process/contiguous/16K"


def test_jobs_with_one_pattern_are_added_up() -> None:
    shares = [pattern("1", 30), pattern("2", 30), pattern("3", 55, **INDIVIDUAL)]
    assert found(*shares) == "write/shared/strided/16K"


def test_without_a_pattern_of_more_than_half_of_the_bytes_there_is_none() -> None:
    assert found(pattern(moved=50), pattern(moved=50, operation="read")) == "None"
    assert found(pattern(moved=51), pattern(moved=50, operation="read")) == "write/shared/strided/16K"
    assert found(pattern(moved=50), pattern(moved=51, distance_mean=None)) == "None"
    assert found(pattern(moved=0)) == found() == "None"


def test_only_some_operations_of_many_jobs_are_classified() -> None:
    calls = []

    class Counting:
        def detect(self, features: Features) -> Detection:
            calls.append(features)
            return Detection(AccessClass.INDIVIDUAL, 0.9)

    many = message(patterns=[pattern(str(job), 1 + (job == 60)) for job in range(65)])
    assert dominant(many.measured, Counting()) is None  # the others may have any pattern
    assert len(calls) == MOST_DETECTIONS
    largest = message(patterns=[pattern(str(job), 1 + 100 * (job == 60)) for job in range(65)])
    assert dominant(largest.measured, Counting())
