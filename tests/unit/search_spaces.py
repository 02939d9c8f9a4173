# SPDX-License-Identifier: Apache-2.0
"""Search spaces that the tests of the search methods share."""

import math
from collections.abc import Callable

from reprise.tuner.model.space import Parameter, Parametrization, Space

SEGMENTS = (0, *(2**k for k in range(2, 21)))
FANS = tuple(2**k for k in range(10))


def without_dead_dimensions(point: Parametrization) -> Parametrization:
    """Return the point without dead values: only algorithm 2 has a fan-out, and algorithms 0 and 1 have no segments."""
    kept = dict(point)
    if point["algorithm"] in (0, 1):
        kept["segment"] = 0
    if point["algorithm"] != 2:
        kept["fan"] = 1
    return kept


def grid(canonical: Callable[[Parametrization], Parametrization] = without_dead_dimensions) -> Space:
    """Return a space of 2,000 points; 342 distinct points remain once values without effect are reset."""
    return Space(
        (
            Parameter("algorithm", tuple(range(10)), "category"),
            Parameter("segment", SEGMENTS, "log"),
            Parameter("fan", FANS, "log"),
        ),
        canonical,
    )


def small() -> Space:
    return Space((Parameter("a", (0, 1, 2)), Parameter("b", ("x", "y"), "category"), Parameter("c", (7,))))


def bowl(point: Parametrization) -> float:
    """Return the value of a point on a smooth landscape, whose minimum of 1.0 is at algorithm 4 and segment 4096."""
    return 1 + 0.5 * (point["algorithm"] != 4) + 0.02 * (math.log2(1 + float(point["segment"])) - 12) ** 2
