# SPDX-License-Identifier: Apache-2.0
"""Jobs, and choices by trying all of them, for the tests of the arbiter."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from reprise.matcher.arbiter.bandwidth_curve import exact
from reprise.matcher.arbiter.forwarding_job import Job, Share
from reprise.matcher.arbiter.knapsack import Item


def job(
    name: str,
    bandwidths: Mapping[int, float] | None = None,
    nodes: int = 8,
    seconds_left: float | None = None,
    has_client: bool = True,
) -> Job:
    curve = None if bandwidths is None else exact(bandwidths)
    return Job(name, nodes, 8 * nodes, curve, seconds_left, has_client)


def numbers(shares: Mapping[str, Share]) -> dict[str, int]:
    return {name: share.forwarders for name, share in shares.items()}


def best_by_trial(classes: Sequence[Sequence[Item]], capacity: int) -> tuple[int, int] | None:
    """Return the largest value and the smallest weight that has it; None if nothing fits."""
    choices = [
        (sum(item.value for item in choice), sum(item.weight for item in choice))
        for choice in itertools.product(*classes)
    ]
    fitting = [(-value, weight) for value, weight in choices if weight <= capacity]
    if not fitting:
        return None
    value, weight = min(fitting)
    return -value, weight
