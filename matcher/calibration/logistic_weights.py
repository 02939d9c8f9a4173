# SPDX-License-Identifier: Apache-2.0
"""Weights of parts that hang together: a logistic regression whose curves never fall.

The log-odds that two jobs are of one application are a sum over the parts, as in Fellegi and Sunter's model (1969). But
there each part's bits are reckoned on its own, so that what always comes together (one user's jobs lie below one
directory, under one account) counts several times. Here all parts are fitted together, so that it counts once. Each
part's bits are straight lines between knots, 0 where two values are as unlike as can be, and rise with likeness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, hstack

from reprise.matcher.calibration.pairs import LEVELS, UNKNOWN, Floats, Levels, Pairs

RIDGE = 0.1  # nats that half a squared slope costs, as much as that of one pair: it keeps finite what pairs leave open
MAX_ROUNDS = 10_000
SETTLED = 1e-14
"""Relative change of the cost. Pairs hardly tell some weights apart: rounds go on until all machines find the same."""


@dataclass(frozen=True)
class Weights:
    """In bits: `prior` of two jobs that have nothing in common; `curves[p]` at the knots of part p, `unknown[p]`."""

    prior: float
    knots: tuple[Floats, ...]
    curves: tuple[Floats, ...]
    unknown: tuple[float, ...]

    def total(self, patterns: Levels) -> Floats:
        """The log-odds of patterns (n x parts), in bits."""
        total = np.full(len(patterns), self.prior)
        for part, (knots, curve, unknown) in enumerate(zip(self.knots, self.curves, self.unknown, strict=True)):
            of_level = np.append(np.interp(LEVELS, knots, curve), unknown)  # UNKNOWN is -1: the last
            total += of_level[patterns[:, part]]
        return total

    def on_line(self, slope: float, offset: float) -> Weights:
        """The same with each total times `slope`, and `offset` bits more."""
        curves = tuple(slope * curve for curve in self.curves)
        unknown = tuple(slope * bits for bits in self.unknown)
        return Weights(slope * self.prior + offset, self.knots, curves, unknown)

    def probability(self, patterns: Levels) -> Floats:
        return 1 / (1 + np.exp2(-np.clip(self.total(patterns), -1000, 1000)))


def fit(pairs: Pairs, knots: Sequence[Floats]) -> Weights:
    """The most likely weights given `pairs`. `knots[p]`: similarities of part p from 0 to 1, where its curve bends."""
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
    """A column for whether the part is unknown, and one for each stretch between knots: how much of it is passed."""
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
        unknown.append(float(min(bits[place], curves[-1][-1])))  # never worth more than what is equal
        place += len(of_part)
    return Weights(float(bits[0]), tuple(knots), tuple(curves), tuple(unknown))


def line(totals: Floats, pairs: Pairs) -> tuple[float, float]:
    """(slope, offset in bits) of the line from `totals` of the patterns, in bits, to their log-odds (Platt 1999).

    As there, no pair is taken to match, or not, for certain: where a total divides them all, no slope is steep enough.
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
