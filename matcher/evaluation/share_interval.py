# SPDX-License-Identifier: Apache-2.0
"""A share of jobs with its 95 % confidence interval, for jobs whose results correlate within a site."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Share:
    """A share of `n` jobs; `value`, `low` and `high` are in [0, 1], or None if there are no jobs."""

    value: float | None
    low: float | None
    high: float | None
    n: int

    def to_json(self) -> dict[str, float | int | None]:
        """Return the share as a JSON object."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


def share(sites: Iterable[tuple[int, int]], *, repeated: bool = False) -> Share:
    """Return the share of hits with its confidence interval, given (hits, jobs) for each of several independent sites.

    The jobs of one site share records, users and names, so their results tend to agree. In statistical terms, the sites
    are the clusters of a cluster sample. The interval is Wilson's interval for the number of independent jobs whose
    share would vary as much as the sites' share does (by the variance of the ratio estimator; Korn and Graubard 1998).
    If that number exceeds the actual number of jobs, the actual number is used. Student's t with sites - 1 degrees of
    freedom replaces the normal quantile, because the variance is itself estimated.

    If all jobs hit or all miss, or if there is only one site, the variance is unknown, and jobs count as independent.
    `repeated` means that a site's jobs are repetitions of the same jobs. Then, if all jobs hit or all miss, each site
    counts as one job.
    """
    counted = [(hits, jobs) for hits, jobs in sites if jobs]
    n = sum(jobs for _, jobs in counted)
    if not n:
        return Share(None, None, None, 0)
    p = sum(hits for hits, _ in counted) / n
    effective = float(len(counted) if repeated and p in (0, 1) else n)
    if len(counted) > 1 and 0 < p < 1:
        spread = math.fsum((hits - p * jobs) ** 2 for hits, jobs in counted)
        variance = len(counted) / (len(counted) - 1) * spread / n**2
        effective = min(effective, p * (1 - p) / variance) if variance else effective
    low, high = wilson(p, effective, _quantile(len(counted)))
    return Share(p, low, high, n)


def wilson(p: float, n: float, z: float) -> tuple[float, float]:
    """Return the lower and upper bounds of Wilson's score interval for a share `p` of `n` jobs.

    `z` is the normal quantile, that is, the half-width of the interval in standard deviations.
    """
    middle = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def _quantile(sites: int) -> float:
    from scipy.special import ndtri, stdtrit

    tail = 1 - (1 - CONFIDENCE) / 2
    return float(stdtrit(sites - 1, tail) if sites > 1 else ndtri(tail))
