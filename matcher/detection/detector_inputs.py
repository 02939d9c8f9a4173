# SPDX-License-Identifier: Apache-2.0
"""Inputs of detectors: numbers computed from the features of a second.

A detector names its inputs. The first five are the features of Bez 2020, section 3.2. Those with `log2` are logarithms,
so that a factor counts equally wherever it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from reprise.matcher.council.pattern_detector import Features

LARGEST = 2.0**64
"""Largest value of a feature: offsets are numbers of 64 bits."""


INPUTS: Mapping[str, Callable[[Features], float]] = {
    "files": lambda of: float(of.files),
    "request_max": lambda of: float(of.request_max),
    "request_min": lambda of: float(of.request_min),
    "request_mean": lambda of: float(of.request_mean),
    "distance_mean": lambda of: float(of.distance_mean or 0),
    "log2_files": lambda of: math.log2(of.files),
    "log2_distance": lambda of: math.log2(1.0 + (of.distance_mean or 0.0) / of.request_mean),
}
"""Inputs by name, for features without a `problem`."""

AS_MEASURED = ("files", "request_max", "request_min", "request_mean", "distance_mean")
RELATIVE = ("log2_files", "log2_distance")
"""Inputs that do not depend on the size of requests.

The smallest and the largest request are left out. In comparison with the mean, they depend on how clients divide large
requests: 64 KiB arrive as 60 and 4 KiB, and 128 KiB as 60, 60 and 8 KiB. That shows no class, but is outside of the
range of other sizes.
"""


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
