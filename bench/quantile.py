# SPDX-License-Identifier: Apache-2.0
"""Quantiles as every bench prints them."""

from __future__ import annotations

from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest of `values` that at least `share` (0 to 1) of them do not exceed; the largest one for 1."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
