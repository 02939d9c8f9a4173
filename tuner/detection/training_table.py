# SPDX-License-Identifier: Apache-2.0
"""Comparison of trained detectors, as JSON objects and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reprise.tuner.detection.detector_training import Judged

HEADINGS = ("detector", "test accuracy", "validation accuracy", "wrong", "unknown", "log loss", "calibration error")


def document(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Return an object for each detector."""
    return [
        {
            "detector": one.detector.name,
            "has_file": one.ships,
            "test": one.test.to_json(),
            "validation": one.validation.to_json(),
        }
        for one in judged
    ]


def cells(judged: Sequence[Judged]) -> list[tuple[str, ...]]:
    """Return the rows of a table with `HEADINGS`. `wrong` and what follows are those of the validation set."""
    return [
        (
            one.detector.name,
            f"{one.test.accuracy:.4f}",
            f"{one.validation.accuracy:.4f}",
            f"{one.validation.wrong} of {one.validation.rows}",
            str(one.validation.unknown),
            f"{one.validation.log_loss:.4f}",
            f"{one.validation.calibration_error:.4f}",
        )
        for one in judged
    ]
