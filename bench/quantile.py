# SPDX-License-Identifier: Apache-2.0
"""The quantile function that benchmarks share."""

from __future__ import annotations

from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value at the share `share` (0 to 1) of the sorted `values`; 1 means the largest value."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
