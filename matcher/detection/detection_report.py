# SPDX-License-Identifier: Apache-2.0
"""Answers of a detector, as rows of a table and as JSON objects."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from reprise.matcher.council.access_pattern import UNKNOWN
from reprise.matcher.council.pattern_detector import detected_pattern
from reprise.matcher.detection.feature_source import Observed
from reprise.matcher.detection.learned_detector import LearnedDetector
from reprise.matcher.detection.recorded_features import Recorded


def of_observed(detector: LearnedDetector, some: Iterable[Observed]) -> list[dict[str, Any]]:
    """Return an object for each job and operation, with its pattern."""
    found = []
    for one in some:
        answer = detector.answer(one.features)
        found.append(
            {
                "job": one.job,
                "operation": str(one.features.operation),
                "pattern": str(detected_pattern(detector, one.features) or UNKNOWN),
                "probability": answer.probability,
                "reason": answer.reason,
            }
        )
    return found


def of_recorded(detector: LearnedDetector, some: Iterable[Recorded]) -> list[dict[str, Any]]:
    """Return an object for each run and operation, with the number of seconds of each pattern.

    `right` is the number of seconds with the known class; None if that is unknown.
    """
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    right: dict[tuple[str, str], int | None] = {}
    for one in some:
        key = (one.run, str(one.features.operation))
        counts[key][str(detected_pattern(detector, one.features) or UNKNOWN)] += 1
        found = detector.answer(one.features).found
        right[key] = None if one.known is None else (right.get(key) or 0) + (found is one.known)
    return [
        {"run": run, "operation": operation, "seconds": dict(count.most_common()), "right": right[run, operation]}
        for (run, operation), count in counts.items()
    ]


def cells(found: Sequence[dict[str, Any]]) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """Return the rows of a table of such objects, and its headings."""
    if found and "run" in found[0]:
        rows: list[tuple[str, ...]] = [
            (one["run"], pattern, str(count), _right(one)) for one in found for pattern, count in one["seconds"].items()
        ]
        return rows, ("run", "pattern", "seconds", "right")
    return [
        (one["job"], one["operation"], one["pattern"], _share(one["probability"]), one["reason"]) for one in found
    ], ("job", "operation", "pattern", "probability", "reason")


def _right(one: dict[str, Any]) -> str:
    return "" if one["right"] is None else f"{one['right']} of {sum(one['seconds'].values())}"


def _share(probability: float | None) -> str:
    return "" if probability is None else f"{probability:.3f}"
