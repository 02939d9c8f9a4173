# SPDX-License-Identifier: Apache-2.0
"""Choice of a model's threshold for a stated rate of false matches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal

LEAST = 0.9
"""Smallest threshold of a model. An unmatched job loses nothing, so a record is used only if it very probably
matches."""

LEAST_OF_SCRIPTS = 0.8
"""Smallest threshold of a model that is also fitted to scripts.

The probabilities of such a model are too low, because most matches that are false by the scripts' labels are one
program under two labels (docs/reference/evaluation-method.md).
"""


def choose(scores: Sequence[float], rate: float, least: float = LEAST) -> float:
    """Return the smallest threshold, at least `least`, that at most the share `rate` of jobs of untuned programs reach.

    `scores` has the score of the nearest record of each job of an untuned program. The result is above 1 if no
    threshold up to 1 suffices.
    """
    first_too_many = sorted(scores, reverse=True)[math.floor(rate * len(scores) + 1e-9) :][:1]
    return max([least, *(math.nextafter(score, math.inf) for score in first_too_many)])


def rounded_up(threshold: float) -> float:
    """Return the threshold rounded up so that its difference to 1 has two significant digits: 0.973 for 0.97236."""
    missing = 1 - Decimal(repr(threshold))
    if missing <= 0:
        return threshold
    return float(1 - missing.quantize(Decimal(1).scaleb(missing.adjusted() - 1), ROUND_FLOOR))
