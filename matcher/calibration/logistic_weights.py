# SPDX-License-Identifier: Apache-2.0
"""Weights of dependent parts: a logistic regression with monotonic curves.

The log-odds that two jobs are of one application are a sum over the parts, as in Fellegi and Sunter's model (1969). But
there each part's bits are computed separately, so that related parts (one user's jobs lie below one directory, under
one account) count several times. Here all parts are fitted together, so that they count once. Each part's bits are a
piecewise linear function of similarity that never falls and is 0 for the least similar values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, hstack

from reprise.matcher.calibration.pairs import LEVELS, UNKNOWN, Floats, Levels, Pairs

RIDGE = 0.1  # nats per half squared slope, as much as one pair: keeps slopes finite that pairs leave open
MAX_ROUNDS = 10_000
SETTLED = 1e-14
"""Relative change of the cost at which the fit ends. It is this small since pairs hardly distinguish some weights.

With it, all machines find equal weights.
"""


@dataclass(frozen=True)
class Weights:
    """Weights in bits: `prior` of two jobs with nothing in common, `curves[p]` at the knots of part p, `unknown[p]`."""

    prior: float
    knots: tuple[Floats, ...]
    curves: tuple[Floats, ...]
    unknown: tuple[float, ...]

    def total(self, patterns: Levels) -> Floats:
        """Return the log-odds of patterns (n x parts), in bits."""
        total = np.full(len(patterns), self.prior)
        for part, (knots, curve, unknown) in enumerate(zip(self.knots, self.curves, self.unknown, strict=True)):
            of_level = np.append(np.interp(LEVELS, knots, curve), unknown)  # UNKNOWN is -1: the last
            total += of_level[patterns[:, part]]
        return total

    def on_line(self, slope: float, offset: float) -> Weights:
        """Return weights with totals of `slope` times these plus `offset` bits."""
        curves = tuple(slope * curve for curve in self.curves)
        unknown = tuple(slope * bits for bits in self.unknown)
        return Weights(slope * self.prior + offset, self.knots, curves, unknown)

    def probability(self, patterns: Levels) -> Floats:
        """Return the probabilities that patterns (n x parts) match."""
        return 1 / (1 + np.exp2(-np.clip(self.total(patterns), -1000, 1000)))


def fit(pairs: Pairs, knots: Sequence[Floats]) -> Weights:
    """Return the most likely weights for `pairs`; `knots[p]` are the similarities at which part p's curve may bend.

    The knots of a part range from 0 to 1.
    """
    design = hstack([_columns(pairs.patterns[:, part], knots[part]) for part in range(len(knots))]).tocsr()
    counts = pairs.counts
    matched = pairs.matched

    def cost(values: Floats) -> tuple[float, Floats]:
        odds = design @ values[1:] + values[0]
        nats = counts * np.logaddexp(0, odds) - matched * odds
        residuals = counts / (1 + np.exp(-np.clip(odds, -500, 500))) - matched
        gradient = np.concatenate([[residuals.sum()], design.T @ residuals + RIDGE * values[1:]])
        return float(nats.sum() + RIDGE / 2 * (values[1:] @ values[1:])), gradient

    first = np.zeros(design.shape[1] + 1)
    bounds = [(None, None), *[(0, None)] * design.shape[1]]
    options = {"maxiter": MAX_ROUNDS, "maxfun": 2 * MAX_ROUNDS, "ftol": SETTLED, "gtol": 1e-8}
    found = minimize(cost, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return _weights(found.x, knots)


def _columns(levels: Levels, knots: Floats) -> csr_matrix:
    """Return a column for unknown values, and one per interval between knots with the share of it that is passed."""
    passed = np.clip((LEVELS[:, None] - knots[:-1]) / np.diff(knots), 0, 1)
    of_level = np.zeros((len(LEVELS) + 1, len(knots)))
    of_level[:-1, 1:] = passed
    of_level[UNKNOWN, 0] = 1
    return csr_matrix(of_level)[levels]


def _weights(values: Floats, knots: Sequence[Floats]) -> Weights:
    bits = values / np.log(2)
    curves, unknown, place = [], [], 1
    for of_part in knots:
        curves.append(np.concatenate([[0.0], np.cumsum(bits[place + 1 : place + len(of_part)])]))
        unknown.append(float(min(bits[place], curves[-1][-1])))  # never worth more than equal values
        place += len(of_part)
    return Weights(float(bits[0]), tuple(knots), tuple(curves), tuple(unknown))


def line(totals: Floats, pairs: Pairs) -> tuple[float, float]:
    """Return (slope, offset in bits) of the line from patterns' `totals`, in bits, to their log-odds (Platt 1999).

    As there, no label counts as certain: otherwise no slope would be steep enough if a total separates all pairs.
    """
    matched, others = pairs.matched.sum(), pairs.others.sum()
    targets = pairs.matched * (matched + 1) / (matched + 2) + pairs.others / (others + 2)

    def cost(values: Floats) -> tuple[float, Floats]:
        odds = (values[0] * totals + values[1]) * np.log(2)
        nats = pairs.counts * np.logaddexp(0, odds) - targets * odds
        residuals = (pairs.counts / (1 + np.exp(-np.clip(odds, -500, 500))) - targets) * np.log(2)
        return float(nats.sum()), np.array([residuals @ totals, residuals.sum()])

    found = minimize(cost, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(0, None), (None, None)])
    return float(found.x[0]), float(found.x[1])
