# SPDX-License-Identifier: Apache-2.0
"""Share of matching pairs at a site, the only property of matching pairs that the site's own pairs reveal."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from reprise.matcher.calibration import logistic_weights, site_template
from reprise.matcher.calibration.logistic_weights import Weights
from reprise.matcher.calibration.pairs import Pairs

MAX_ROUNDS = 1000
SETTLED = 1e-4  # relative change of the share at which it is final
LEAST_SHARE, MOST_SHARE = 1e-7, 0.5
UNKNOWN_MORE = 0.1
"""A part that is unknown in this share more of a site's pairs than of the made-up ones is not used.

The weight of an unknown value was learned from values that are missing here and there.
"""
LEAST_MATCHED = 0.5
"""Least share of future jobs with an application among the known jobs; two in three are in the made-up sites.

If each known job is of a different application, as tuned jobs are, the share would otherwise be estimated as 0.
"""
_PROGRAM, _WITH_IT = {"program", "executable"}, {"options", "option_keys", "modules"}


def bits(probability: float) -> float:
    """Return the log-odds of a probability."""
    return math.log2(probability / (1 - probability))


def lacking(site: Pairs, known: Pairs) -> list[int]:
    """Return the parts with too few known values at the site.

    Jobs may have no options and no modules. If there is no program either, their equality only looks like a match.
    """
    more = site.unknown() > known.unknown() + UNKNOWN_MORE
    features = {
        feature for feature, is_unknown in zip(site_template.FEATURES, more, strict=True) if is_unknown
    } - _WITH_IT
    if features & _PROGRAM:
        features |= _PROGRAM | _WITH_IT
    return [part for part, feature in enumerate(site_template.FEATURES) if feature in features]


def share(site: Pairs, jobs: int, known: Pairs, weights: Weights, parts_lacking: Sequence[int]) -> float:
    """Return the share of pairs of a new job and one of the site's `jobs` that match, by `weights` fitted to `known`.

    `site` are pairs of these jobs. If parts are lacking, other weights find the share: fitted to `known` as if these
    parts were lacking there too.
    """
    if parts_lacking:
        weights = logistic_weights.fit(known.without(parts_lacking), site_template.KNOTS)
    return max(share_of(site.without(parts_lacking), weights, known.share), LEAST_MATCHED / jobs)


def share_of(pairs: Pairs, weights: Weights, known_share: float) -> float:
    """Return the share of `pairs` that match, given weights made for pairs with another share.

    By expectation maximisation of the share alone (Saerens, Latinne, Decaestecker 2002), between LEAST_SHARE and
    MOST_SHARE.
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
