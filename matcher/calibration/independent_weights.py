# SPDX-License-Identifier: Apache-2.0
"""Weights that are fitted by `ecm`, as if a model's parts were independent (the model of Fellegi and Sunter 1969).

Such weights can be fitted to unlabeled pairs. But related parts count several times, and the two classes that the fit
finds may not be the pairs of one application and the pairs of two applications (docs/explanation/calibration.md).
"""

from __future__ import annotations

import numpy as np

from reprise.matcher.calibration import ecm, logistic_weights, site_template
from reprise.matcher.calibration.logistic_weights import Weights
from reprise.matcher.calibration.pairs import LEVELS, Floats, Pairs


def fit(known: Pairs, unlabelled: Pairs | None) -> Weights:
    """Fit weights to the pairs `unlabelled`, or to `known` without its labels; the labels give the starting values.

    Each curve is made monotonic by an isotonic regression on the levels that occur. Related parts count several times,
    so the sum of the parts' bits overstates the odds. A logistic regression on `known` (Platt 1999) corrects the sum.
    """
    pairs = unlabelled or known
    found = ecm.fit(
        pairs.patterns.astype(np.int64),
        counts=pairs.counts,
        start_matched=_shares(known, known.matched),
        start_others=_shares(known, known.others),
        start_share=known.share,
    )
    curves = tuple(_rising(found.bits(part), pairs, part) for part in range(len(site_template.KNOTS)))
    raw = Weights(found.prior, site_template.KNOTS, curves, (0.0,) * len(curves))
    slope, offset = logistic_weights.line(raw.total(known.patterns), known)
    curves = tuple(slope * curve for curve in curves)
    unknown = tuple(
        float(min(0.0, curve[-1])) for curve in curves
    )  # an unknown value must not add more weight than equal values do
    return Weights(slope * raw.prior + offset, raw.knots, curves, unknown)


def _shares(pairs: Pairs, counts: Floats) -> list[list[float]]:
    """Return, for each part and level, the number of pairs, increased by PSEUDO_PAIRS."""
    columns = [pairs.patterns[:, part] for part in range(pairs.patterns.shape[1])]
    seen = [np.bincount(one[one >= 0], counts[one >= 0], minlength=len(LEVELS)) for one in columns]
    return [(one + ecm.PSEUDO_PAIRS).tolist() for one in seen]


def _rising(bits: Floats, pairs: Pairs, part: int) -> Floats:
    from sklearn.isotonic import IsotonicRegression  # the import takes 2 s, and only ECM needs it

    levels = pairs.patterns[:, part]
    seen = np.bincount(levels[levels >= 0], pairs.counts[levels >= 0], minlength=len(LEVELS))
    occurs = seen > 0
    if not occurs.any():
        return np.zeros(len(site_template.KNOTS[part]))
    smooth = IsotonicRegression(out_of_bounds="clip").fit(LEVELS[occurs], bits[occurs], seen[occurs])
    return np.asarray(smooth.predict(site_template.KNOTS[part]), np.float64)
