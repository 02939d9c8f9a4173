# SPDX-License-Identifier: Apache-2.0
"""Interface of detectors, which find the access pattern behind the features of a second (Bez 2020, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from reprise.matcher.council.access_pattern import Files, Operation, Pattern, Spatiality, size_class


@dataclass(frozen=True)
class Features:
    """Features of the reads or writes of one job at one forwarder in one second.

    Args:
        operation: Operation of the requests.
        files: Number of files.
        request_max: Largest request in bytes.
        request_min: Smallest request in bytes.
        request_mean: Mean request in bytes.
        distance_mean: Mean distance in bytes between the end of a request and the beginning of the next one to the
            same file; None if no file had two requests.
    """

    operation: Operation
    files: int
    request_max: float
    request_min: float
    request_mean: float
    distance_mean: float | None


class AccessClass(StrEnum):
    """Class of access patterns that detectors distinguish. Strided access to individual files is unusual."""

    INDIVIDUAL = "individual"
    SHARED_CONTIGUOUS = "shared contiguous"
    SHARED_STRIDED = "shared strided"


@dataclass(frozen=True)
class Detection:
    """A detected class, and the probability that it is right, between 0 and 1."""

    found: AccessClass
    probability: float


class Detector(Protocol):
    """A method to detect access patterns."""

    def detect(self, features: Features) -> Detection | None:
        """Return the class of the pattern; None if it is unknown."""


_CONTEXT = {
    AccessClass.INDIVIDUAL: (Files.PER_PROCESS, Spatiality.CONTIGUOUS),
    AccessClass.SHARED_CONTIGUOUS: (Files.SHARED, Spatiality.CONTIGUOUS),
    AccessClass.SHARED_STRIDED: (Files.SHARED, Spatiality.STRIDED),
}


def detected_pattern(detector: Detector, features: Features) -> Pattern | None:
    """Return the pattern behind some features; None if it is unknown."""
    detection = detector.detect(features)
    if detection is None:
        return None
    return Pattern(features.operation, *_CONTEXT[detection.found], size_class(features.request_mean))
