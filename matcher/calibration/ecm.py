# SPDX-License-Identifier: Apache-2.0
"""Weights fitted to unlabeled pairs, by estimating each similarity level's frequency in matching and in other pairs.

The model is that of Fellegi and Sunter (1969), with any number of levels per comparison. Comparisons are assumed to be
independent within the matching pairs and within the other pairs. The model is fitted by expectation and conditional
maximization (Winkler 1988; Meng and Rubin 1993).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Levels = npt.NDArray[np.int64]

UNKNOWN = -1  # level of a comparison that could not be made; it has no influence on the fit
PSEUDO_PAIRS = 0.5  # pairs that are added to each level of each class (Jeffreys), so that no level has probability 0
TOLERANCE = 1e-7  # the fit has converged when no probability changes by more than this in a round
MAX_ROUNDS = 2000


@dataclass(frozen=True)
class Fit:
    """Result of a fit; `matched[c][l]` is the frequency of level l of comparison c among the matching pairs.

    `others` has the frequencies among the other pairs. `share` is the share of all pairs that match. `log_likelihood`
    has the log-likelihood before each round, in nats. `converged` is true if the fit converged within MAX_ROUNDS.
    """

    share: float
    matched: tuple[Floats, ...]
    others: tuple[Floats, ...]
    log_likelihood: tuple[float, ...]
    converged: bool

    def bits(self, comparison: int) -> Floats:
        """Return the weight of each level of a comparison, which is log2(matched / others), in bits."""
        return np.log2(self.matched[comparison] / self.others[comparison])

    @property
    def prior(self) -> float:
        """Log-odds, in bits, that two jobs match, if nothing is known about the jobs."""
        return float(np.log2(self.share / (1 - self.share)))

    def probability(self, levels: Levels) -> Floats:
        """Return the probability that each row of levels (pairs x comparisons) is a match."""
        return 1 / (1 + np.exp2(-(self.prior + _sum([self.bits(c) for c in range(len(self.matched))], levels))))


def fit(
    levels: Levels,
    *,
    start_matched: Sequence[Sequence[float]],
    start_others: Sequence[Sequence[float]],
    start_share: float,
    counts: npt.ArrayLike | None = None,
    pseudo_pairs: float = PSEUDO_PAIRS,
) -> Fit:
    """Fit the model to `levels` (pairs x comparisons), whose values are level numbers from 0, or UNKNOWN.

    `counts` is the number of pairs that each row represents, by default 1.

    The starting values determine which of the two classes is the matching class. Apart from that, a good fit does not
    depend on the starting values. Raises ValueError if shapes or starting values are inconsistent.
    """
    rows, index = np.unique(np.asarray(levels, dtype=np.int64), axis=0, return_inverse=True)
    weights = np.bincount(index.ravel(), weights=None if counts is None else np.asarray(counts, dtype=np.float64))
    matched, others = _checked(rows, start_matched), _checked(rows, start_others)
    if not 0 < start_share < 1:
        raise ValueError(f"start_share is {start_share}: it must lie between 0 and 1")
    share, history = start_share, list[float]()
    for _ in range(MAX_ROUNDS):
        of_matched = np.log(share) + _sum([np.log(p) for p in matched], rows)
        of_others = np.log1p(-share) + _sum([np.log(p) for p in others], rows)
        together = np.logaddexp(of_matched, of_others)
        history.append(float(weights @ together))
        belongs = np.exp(of_matched - together)
        before = [np.array([share]), *matched, *others]
        total = float(weights.sum()) + 2 * pseudo_pairs
        share = float((weights @ belongs + pseudo_pairs) / total)
        matched = [_estimate(rows[:, c], weights * belongs, p.size, pseudo_pairs) for c, p in enumerate(matched)]
        others = [_estimate(rows[:, c], weights * (1 - belongs), p.size, pseudo_pairs) for c, p in enumerate(others)]
        change = max(
            float(np.max(np.abs(a - b))) for a, b in zip(before, [np.array([share]), *matched, *others], strict=True)
        )
        if change < TOLERANCE:
            return Fit(share, tuple(matched), tuple(others), tuple(history), converged=True)
    return Fit(share, tuple(matched), tuple(others), tuple(history), converged=False)


def _checked(rows: Levels, start: Sequence[Sequence[float]]) -> list[Floats]:
    if len(start) != rows.shape[1]:
        raise ValueError(f"there are starting values for {len(start)} comparisons, but the pairs have {rows.shape[1]}")
    result = []
    for comparison, values in enumerate(start):
        found = np.asarray(values, dtype=np.float64)
        if found.min() <= 0 or rows[:, comparison].max() >= found.size or rows[:, comparison].min() < UNKNOWN:
            raise ValueError(f"comparison {comparison}: every level in the pairs needs a starting value above 0")
        result.append(found / found.sum())
    return result


def _sum(of_level: Sequence[Floats], rows: Levels) -> Floats:
    """Return, for each of `rows`, the sum of its levels' values over all comparisons; unknown levels count 0."""
    total = np.zeros(len(rows))
    for comparison, values in enumerate(of_level):
        column = rows[:, comparison]
        total += np.where(column == UNKNOWN, 0.0, values[column])
    return total


def _estimate(column: Levels, weights: Floats, size: int, pseudo_pairs: float) -> Floats:
    known = column != UNKNOWN
    found = np.bincount(column[known], weights=weights[known], minlength=size) + pseudo_pairs
    return np.asarray(found / found.sum(), dtype=np.float64)
