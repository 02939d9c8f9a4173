# SPDX-License-Identifier: Apache-2.0
"""Choice of the threshold for a stated rate of false matches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal

LEAST = 0.9
"""Least threshold: an unmatched job loses nothing, so a record must not serve if it is likelier to be another's."""

LEAST_OF_SCRIPTS = 0.8
"""Least threshold of a model that is also fitted to scripts.

Most matches that its labels call false are one program under another label (docs/explanation/linkage.md), so that the
probability is too low.
"""


def choose(scores: Sequence[float], rate: float, least: float = LEAST) -> float:
    """Return the smallest threshold, `least` or more, that at most `rate` of unknown jobs reach; over 1 if none is.

    `scores` are those of their nearest records.
    """
    first_too_many = sorted(scores, reverse=True)[math.floor(rate * len(scores) + 1e-9) :][:1]
    return max([least, *(math.nextafter(score, math.inf) for score in first_too_many)])


def rounded_up(threshold: float) -> float:
    """Round up to two digits of the difference to 1: 0.97236 is 0.973."""
    missing = 1 - Decimal(repr(threshold))
    if missing <= 0:
        return threshold
    return float(1 - missing.quantize(Decimal(1).scaleb(missing.adjusted() - 1), ROUND_FLOOR))
