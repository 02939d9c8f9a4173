# SPDX-License-Identifier: Apache-2.0
"""How rare pairs of one application are at a site: the one thing that its own pairs say of the matching ones."""

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
"""A part that is unknown of so much more of a site's pairs than of the made-up ones is not used: what an unknown value
is worth was learned where one is missing here and there."""
LEAST_MATCHED = 0.5
"""Of the jobs that will ask, those of an application that the known jobs have, at least: two in three are in the
made-up sites. Tuned jobs, each of another application, would say that none is."""
_PROGRAM, _WITH_IT = {"program", "executable"}, {"options", "option_keys", "modules"}


def bits(probability: float) -> float:
    """Its log-odds."""
    return math.log2(probability / (1 - probability))


def lacking(site: Pairs, known: Pairs) -> list[int]:
    """The parts of which too little is known at the site.

    Jobs may have no options and no modules. Where there is no program either, that only looks as if all had the same.
    """
    more = site.unknown() > known.unknown() + UNKNOWN_MORE
    features = {
        feature for feature, is_unknown in zip(site_template.FEATURES, more, strict=True) if is_unknown
    } - _WITH_IT
    if features & _PROGRAM:
        features |= _PROGRAM | _WITH_IT
    return [part for part, feature in enumerate(site_template.FEATURES) if feature in features]


def share(site: Pairs, jobs: int, known: Pairs, weights: Weights, parts_lacking: Sequence[int]) -> float:
    """The share of pairs of a new job and one of the site's `jobs` that match, by `weights` fitted to `known`.

    `site` are pairs of these jobs. Where parts are lacking, other weights find it: fitted to the same pairs as if these
    were lacking there too.
    """
    if parts_lacking:
        weights = logistic_weights.fit(known.without(parts_lacking), site_template.KNOTS)
    return max(share_of(site.without(parts_lacking), weights, known.share), LEAST_MATCHED / jobs)


def share_of(pairs: Pairs, weights: Weights, known_share: float) -> float:
    """The share of `pairs` that match, where `weights` were made for pairs with another share.

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
