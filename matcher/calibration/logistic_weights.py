# SPDX-License-Identifier: Apache-2.0
"""Weights of parts that depend on each other, fitted by a logistic regression with monotonic curves.

The log-odds that two jobs belong to one application are a sum over the parts, as in Fellegi and Sunter's model (1969).
In that model, each part's bits are computed separately, so related parts count several times: for example, one user's
jobs run below one directory and under one account. Here all parts are fitted together, so related parts count once.
Each part's bits are a piecewise linear function of similarity that never decreases and is 0 for the least similar
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, hstack

from reprise.matcher.calibration.pairs import LEVELS, UNKNOWN, Floats, Levels, Pairs

RIDGE = 0.1  # penalty per half squared slope, in nats; keeps the slopes small that the pairs leave undetermined
MAX_ROUNDS = 10_000
SETTLED = 1e-14
"""The fit ends when the relative change of the cost in a round is at most this.

The limit is so small because the pairs barely determine some weights; with this limit, all machines find equal weights.
"""


@dataclass(frozen=True)
class Weights:
    """Weights of a model's parts, in bits.

    `prior` is the log-odds of two jobs with nothing in common. `curves[p]` has the bits of part p at the similarities
    `knots[p]`, and `unknown[p]` the bits of an unknown value.
    """

    prior: float
    knots: tuple[Floats, ...]
    curves: tuple[Floats, ...]
    unknown: tuple[float, ...]

    def total(self, patterns: Levels) -> Floats:
        """Return the log-odds that pairs with these patterns (n x parts) match, in bits."""
        total = np.full(len(patterns), self.prior)
        for part, (knots, curve, unknown) in enumerate(zip(self.knots, self.curves, self.unknown, strict=True)):
            of_level = np.append(np.interp(LEVELS, knots, curve), unknown)  # UNKNOWN is -1, the last index
            total += of_level[patterns[:, part]]
        return total

    def on_line(self, slope: float, offset: float) -> Weights:
        """Return weights that yield `slope` times the totals of these weights, plus `offset` bits."""
        curves = tuple(slope * curve for curve in self.curves)
        unknown = tuple(slope * bits for bits in self.unknown)
        return Weights(slope * self.prior + offset, self.knots, curves, unknown)

    def probability(self, patterns: Levels) -> Floats:
        """Return the probability that a pair with each of these patterns (n x parts) matches."""
        return 1 / (1 + np.exp2(-np.clip(self.total(patterns), -1000, 1000)))


def fit(pairs: Pairs, knots: Sequence[Floats]) -> Weights:
    """Return the most likely weights for `pairs`.

    `knots[p]` has the similarities at which the slope of part p's curve may change.

    The knots of each part start with 0 and end with 1.
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
    """Return one part's columns of the regression's design matrix, with a row for each of `levels`.

    The first column is 1 for unknown values, else 0. Each other column belongs to an interval between knots and has the
    share of the interval that is below the level's similarity.
    """
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
        unknown.append(float(min(bits[place], curves[-1][-1])))  # an unknown value must not add more than equal values
        place += len(of_part)
    return Weights(float(bits[0]), tuple(knots), tuple(curves), tuple(unknown))


def line(totals: Floats, pairs: Pairs) -> tuple[float, float]:
    """Fit a line that maps patterns' `totals` in bits to log-odds, and return its slope and its offset in bits.

    As in Platt (1999), labels do not count as certain. If they did, the slope would grow without limit when the totals
    separate matching from other pairs completely.
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
