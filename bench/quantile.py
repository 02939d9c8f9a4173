# SPDX-License-Identifier: Apache-2.0
"""The quantile that every bench prints."""

from __future__ import annotations

from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest of `values` that at least `share` (0 to 1) of them do not exceed; for 1, the largest."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
