# SPDX-License-Identifier: Apache-2.0
"""Detector with a fixed rule, which needs no training."""

from __future__ import annotations

from reprise.matcher.council.pattern_detector import AccessClass, Detection, Features

NEAR = 1024
"""Mean distance, in requests, up to which processes share a region of a file.

If processes read a shared file in strides, their requests at one time are near each other: with P processes, distances
are up to P requests. If each process has a contiguous region, distances are as large as regions.
"""


class SimpleDetector:
    """Rule by the number of files and the distance of requests.

    It takes one process with one file for a shared file. Its probability is always 1, because it was not calibrated.
    """

    def detect(self, features: Features) -> Detection | None:
        """Return the class of the pattern; None if no file had two requests."""
        if features.files > 1:
            return Detection(AccessClass.INDIVIDUAL, 1.0)
        if features.distance_mean is None:
            return None
        is_strided = 0 < features.distance_mean <= NEAR * features.request_mean
        return Detection(AccessClass.SHARED_STRIDED if is_strided else AccessClass.SHARED_CONTIGUOUS, 1.0)
