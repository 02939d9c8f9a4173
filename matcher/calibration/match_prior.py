# SPDX-License-Identifier: Apache-2.0
"""Estimation of the share of a site's pairs that match, from the site's unlabeled pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from reprise.matcher.calibration import logistic_weights, site_template
from reprise.matcher.calibration.logistic_weights import Weights
from reprise.matcher.calibration.pairs import Pairs

MAX_ROUNDS = 1000
SETTLED = 1e-4  # the iteration ends if the share changes by less than this fraction
LEAST_SHARE, MOST_SHARE = 1e-7, 0.5
UNKNOWN_MORE = 0.1
"""Difference between two shares of pairs above which a part of the model is ignored.

The shares are those of the site's pairs, and of the labeled pairs, in which the part's value is unknown. The weight of
an unknown value is learned from labeled pairs, in which values are only occasionally missing, so it does not apply if
many values are missing.
"""
LEAST_MATCHED = 0.5
"""Lower limit of the estimated share of future jobs whose application is among those of the known jobs.

At the made-up sites, two in three jobs have such an application. Without this limit, the share of matching pairs would
be estimated as 0 if each known job belongs to a different application, as tuned jobs do.
"""
_PROGRAM, _WITH_IT = {"program", "executable"}, {"options", "option_keys", "modules"}


def bits(probability: float) -> float:
    """Return the log-odds of a probability, in bits."""
    return math.log2(probability / (1 - probability))


def lacking(site: Pairs, known: Pairs) -> list[int]:
    """Return the indices of the parts with too few known values at the site.

    Options and modules are not checked, because jobs may have none. But if the program is unknown too often, options
    and modules are also returned, because two jobs without program, options and modules would seem to match.
    """
    more = site.unknown() > known.unknown() + UNKNOWN_MORE
    features = {
        feature for feature, is_unknown in zip(site_template.FEATURES, more, strict=True) if is_unknown
    } - _WITH_IT
    if features & _PROGRAM:
        features |= _PROGRAM | _WITH_IT
    return [part for part, feature in enumerate(site_template.FEATURES) if feature in features]


def share(site: Pairs, jobs: int, known: Pairs, weights: Weights, parts_lacking: Sequence[int]) -> float:
    """Return the estimated share of matches among the pairs of a new job with each of the site's `jobs` jobs.

    `site` has pairs of the site's jobs, and `weights` are fitted to `known`. If `parts_lacking` is not empty, the share
    is estimated with weights that are fitted to `known` with these parts unknown in every pair.
    """
    if parts_lacking:
        weights = logistic_weights.fit(known.without(parts_lacking), site_template.KNOTS)
    return max(share_of(site.without(parts_lacking), weights, known.share), LEAST_MATCHED / jobs)


def share_of(pairs: Pairs, weights: Weights, known_share: float) -> float:
    """Return the share of matches among `pairs`.

    `known_share` is the share of matches among the pairs to which `weights` were fitted. The returned share is
    estimated by expectation maximization with fixed weights (Saerens, Latinne, Decaestecker 2002), and limited to the
    range from LEAST_SHARE to MOST_SHARE.
    """
    ratios = np.exp2(np.clip(weights.total(pairs.patterns) - bits(known_share), -500, 500))
    found = known_share
    for _ in range(MAX_ROUNDS):
        odds = ratios * found / (1 - found)
        before, found = found, float(np.average(odds / (1 + odds), weights=pairs.counts))
        found = min(max(found, LEAST_SHARE), MOST_SHARE)
        if abs(found / before - 1) < SETTLED:
            break
    return found
