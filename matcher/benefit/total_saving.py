# SPDX-License-Identifier: Apache-2.0
"""Sum of the node-hours that all records have saved in production."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from reprise.matcher.benefit.production_gain import Gain

CERTAIN = 0.999  # larger gains are reduced to this value; a gain of 1 would mean an infinite saving


@dataclass(frozen=True)
class Given:
    """Use of one record in production: the number and node-hours of jobs that ended with its settings, and its gain."""

    record: int
    jobs: int
    node_hours: float
    gain: Gain


@dataclass(frozen=True)
class Saved:
    """Node-hours saved, with the bounds of the 95 % interval; None if no gain was measured.

    `records` is the number of records with a measured gain, and `measured` is the node-hours of their jobs.
    `node_hours` and `jobs` are the node-hours and the number of the jobs of all records.
    """

    saved: float | None
    low: float | None
    high: float | None
    records: int
    measured: float
    node_hours: float
    jobs: int


def saved_by(given: Given) -> tuple[float, float, float] | None:
    """Return the node-hours that one record's settings saved, with the bounds of the interval; None if unknown.

    A job that takes time T with a gain of g would have taken T / (1 - g) without the settings.
    """
    found = given.gain
    if found.gain is None or found.low is None or found.high is None:
        return None
    best, low, high = (given.node_hours * _more(one) for one in (found.gain, found.low, found.high))
    return best, low, high


def summed(estimates: Iterable[tuple[float, float, float]]) -> tuple[float, float, float] | None:
    """Return the sum of independent estimates, each with the bounds of its interval; None if there are none.

    The bounds of the sum are computed from the bounds of the estimates (Zou and Donner 2008, Construction of confidence
    limits about effect measures: the method of variance estimates recovery).
    """
    known = list(estimates)
    if not known:
        return None
    best = sum(found[0] for found in known)
    below = math.hypot(*(found[0] - found[1] for found in known))
    above = math.hypot(*(found[2] - found[0] for found in known))
    return best, best - below, best + above


def total(all_given: Iterable[Given]) -> Saved:
    """Return the sum of all records' savings, whose estimates are independent."""
    given = list(all_given)
    known = [(one, found) for one in given if (found := saved_by(one))]
    hours, jobs = sum(one.node_hours for one in given), sum(one.jobs for one in given)
    measured = sum(one.node_hours for one, _ in known)
    best, low, high = summed(found for _, found in known) or (None, None, None)
    return Saved(best, low, high, len(known), measured, hours, jobs)


def _more(gain: float) -> float:
    gain = min(gain, CERTAIN)
    return gain / (1 - gain)
