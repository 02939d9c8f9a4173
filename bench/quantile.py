# SPDX-License-Identifier: Apache-2.0
"""The quantile function that benchmarks share."""

from __future__ import annotations

from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float:
    """Return the quantile of `values` for `share` (0 to 1); 1 means the largest value."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
