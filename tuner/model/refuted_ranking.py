# SPDX-License-Identifier: Apache-2.0
"""Decide from the first runs of an application whether they refute a ranking of settings by another program."""

from __future__ import annotations

from collections.abc import Sequence


def is_refuted(best: float | None, others: Sequence[float | None], tolerance: float) -> bool:
    """Return whether the ranking's best setting is worse on the application than a setting that the ranking puts lower.

    `best` and `others` are values of the objective; smaller values are better. None is an unknown value, which refutes
    nothing. A setting counts as worse if it exceeds another by more than the fraction `tolerance`.
    """
    known = [one for one in others if one is not None]
    return best is not None and any(best - one > tolerance * abs(one) for one in known)
