# SPDX-License-Identifier: Apache-2.0
"""Select the default's runs with which a problem's results are compared, and check that these runs agree.

If the default's few runs spread by more than their mean, the machine may have been disturbed. The default is then run
again as often as at first, up to `SETS` sets of runs in total. If every set spreads that much, nothing can be compared
with the default, and the problem is given up.
"""

from __future__ import annotations

from collections.abc import Sequence

from reprise.database.entities import Trial

SETS = 3


def spreads(runs: Sequence[Trial]) -> bool:
    """Return whether the range of the values exceeds their mean."""
    values = [row.value for row in runs if row.value is not None]
    return bool(values) and max(values) - min(values) > sum(values) / len(values)


def chosen(runs: Sequence[Trial], wanted: int) -> Sequence[Trial]:
    """Return the first complete set of `wanted` runs that agree or, if there is none, the last set that was begun."""
    sets = [runs[first : first + wanted] for first in range(0, min(len(runs), SETS * wanted), wanted)]
    alike = [one for one in sets if len(one) == wanted and not spreads(one)]
    return (alike or sets[-1:] or [[]])[0]


def needed(runs: Sequence[Trial], wanted: int) -> int:
    """Return the total number of runs that are needed, according to the runs so far."""
    for count in range(wanted, SETS * wanted, wanted):
        if len(runs) < count or not spreads(runs[count - wanted : count]):
            return count
    return SETS * wanted


def given_up(runs: Sequence[Trial], wanted: int) -> str:
    """Return, in one line, why nothing can be compared with these runs, or an empty text if they can be used."""
    if not spreads(chosen(runs, wanted)):
        return ""
    values = [row.value for row in runs if row.value is not None]
    return (
        f"the default's runs spread by more than their mean ({min(values):.3g} to {max(values):.3g} {runs[0].unit} in "
        f"{len(values)} runs): nothing can be compared with them"
    )
