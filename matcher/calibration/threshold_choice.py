# SPDX-License-Identifier: Apache-2.0
"""The threshold for a stated rate of false matches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal

LEAST = 0.9
"""A job that is not matched loses nothing: no record may serve that is more likely than this to be another's."""

LEAST_OF_SCRIPTS = 0.8
"""The same of a model that is fitted to scripts too. Of what its labels call false, most is the same program under
another label (docs/linkage.md), so that a probability says less than it should."""


def choose(scores: Sequence[float], rate: float, least: float = LEAST) -> float:
    """The smallest threshold, `least` or more, that no more than `rate` of unknown jobs reach; over 1 if none is.

    `scores` of their nearest records.
    """
    first_too_many = sorted(scores, reverse=True)[math.floor(rate * len(scores) + 1e-9) :][:1]
    return max([least, *(math.nextafter(score, math.inf) for score in first_too_many)])


def rounded_up(threshold: float) -> float:
    """Up to two digits of what is missing to 1: 0.97236 is 0.973."""
    missing = 1 - Decimal(repr(threshold))
    if missing <= 0:
        return threshold
    return float(1 - missing.quantize(Decimal(1).scaleb(missing.adjusted() - 1), ROUND_FLOOR))
