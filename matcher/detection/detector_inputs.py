# SPDX-License-Identifier: Apache-2.0
"""Inputs of detectors: numbers computed from the features of a second.

A detector names its inputs. The first five are the features of Bez 2020, section 3.2. Those with `log2` do
not depend on the size of requests: they compare sizes and distances with the mean request, and are logarithms, so that
a factor counts equally wherever it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from reprise.matcher.council.pattern_detector import Features

LARGEST = 2.0**64
"""Largest value of a feature: offsets are numbers of 64 bits."""


def _of_mean(features: Features, value: float) -> float:
    """Return the logarithm of a size in mean requests."""
    return math.log2(value / features.request_mean)


INPUTS: Mapping[str, Callable[[Features], float]] = {
    "files": lambda of: float(of.files),
    "request_max": lambda of: float(of.request_max),
    "request_min": lambda of: float(of.request_min),
    "request_mean": lambda of: float(of.request_mean),
    "distance_mean": lambda of: float(of.distance_mean or 0),
    "log2_files": lambda of: math.log2(of.files),
    "log2_request_max": lambda of: _of_mean(of, of.request_max),
    "log2_request_min": lambda of: _of_mean(of, of.request_min),
    "log2_distance": lambda of: math.log2(1.0 + (of.distance_mean or 0.0) / of.request_mean),
}
"""Inputs by name, for features without a `problem`."""

AS_MEASURED = ("files", "request_max", "request_min", "request_mean", "distance_mean")
RELATIVE = ("log2_files", "log2_request_max", "log2_request_min", "log2_distance")


def problem(features: Features) -> str:
    """Return why no pattern can be detected in features, "" if there is no reason.

    Values may be of any type, since they come from other hosts.
    """
    for name in AS_MEASURED:
        value = getattr(features, name)
        if value is None:
            return f"{name} is unknown"
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
            return f"{name} is not a number from 0 to 2^64"
    sizes = (features.request_min, features.request_mean, features.request_max)
    if not all(sizes):
        return "some requests have no bytes"
    if not features.files or list(sizes) != sorted(sizes):
        return "the features contradict each other"
    return ""


def inputs(names: Sequence[str], features: Features) -> list[float]:
    """Return the named inputs, for features without a `problem`."""
    return [INPUTS[name](features) for name in names]
