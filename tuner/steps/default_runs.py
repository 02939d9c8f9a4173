# SPDX-License-Identifier: Apache-2.0
"""Which runs of the default a problem is judged by, and whether they are alike enough to judge anything by.

A default whose few runs spread by more than their mean may have been measured in a bad moment: it is measured anew, as
often as at first, up to `SETS` times in all. Where the runs of each set spread as much, nothing can be compared with
them, and the problem is given up.
"""

from __future__ import annotations

from collections.abc import Sequence

from reprise.database.entities import Trial

SETS = 3


def spreads(runs: Sequence[Trial]) -> bool:
    """Whether the greatest value exceeds the least by more than the mean."""
    values = [row.value for row in runs if row.value is not None]
    return bool(values) and max(values) - min(values) > sum(values) / len(values)


def chosen(runs: Sequence[Trial], wanted: int) -> Sequence[Trial]:
    """The first complete set of `wanted` runs that are alike; without one, the last set that was begun."""
    sets = [runs[first : first + wanted] for first in range(0, min(len(runs), SETS * wanted), wanted)]
    alike = [one for one in sets if len(one) == wanted and not spreads(one)]
    return (alike or sets[-1:] or [[]])[0]


def needed(runs: Sequence[Trial], wanted: int) -> int:
    """How many runs there have to be in all, as far as is known."""
    for count in range(wanted, SETS * wanted, wanted):
        if len(runs) < count or not spreads(runs[count - wanted : count]):
            return count
    return SETS * wanted


def given_up(runs: Sequence[Trial], wanted: int) -> str:
    """Why nothing can be compared with these runs, in a line; empty where it can."""
    if not spreads(chosen(runs, wanted)):
        return ""
    values = [row.value for row in runs if row.value is not None]
    return (
        f"the default's runs spread by more than their mean ({min(values):.3g} to {max(values):.3g} {runs[0].unit} in "
        f"{len(values)} runs): nothing can be compared with them"
    )
