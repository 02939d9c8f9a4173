# SPDX-License-Identifier: Apache-2.0
"""Choice of a model's threshold for a given rate of false matches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal

LEAST = 0.9
"""Lower limit of a model's threshold. An unmatched job loses nothing, so a record is used only if it very probably
matches."""

LEAST_OF_SCRIPTS = 0.8
"""Lower limit of the threshold of a model that is also fitted to scripts.

The limit is lower because the probabilities of such a model are too low: most matches that count as false by the
scripts' labels are of one program with two labels (docs/reference/evaluation-method.md).
"""


def choose(scores: Sequence[float], rate: float, least: float = LEAST) -> float:
    """Return the smallest threshold >= `least` that at most the fraction `rate` of the untuned programs' jobs reaches.

    `scores` has, for each job of an untuned program, the score of the most similar record. The result is above 1 if no
    threshold up to 1 suffices.
    """
    first_too_many = sorted(scores, reverse=True)[math.floor(rate * len(scores) + 1e-9) :][:1]
    return max([least, *(math.nextafter(score, math.inf) for score in first_too_many)])


def rounded_up(threshold: float) -> float:
    """Round the threshold up so that its difference from 1 has two significant digits, e.g. 0.97236 to 0.973."""
    missing = 1 - Decimal(repr(threshold))
    if missing <= 0:
        return threshold
    return float(1 - missing.quantize(Decimal(1).scaleb(missing.adjusted() - 1), ROUND_FLOOR))
