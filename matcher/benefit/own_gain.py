# SPDX-License-Identifier: Apache-2.0
"""Gain of a record for one user's own jobs, in the words that complete the reason for a decision."""

from __future__ import annotations

from collections.abc import Sequence

from reprise.database.entities import Compared
from reprise.matcher.benefit.record_benefit import measured

NOT_YET = "this job: not measured yet"


def told(jobs: Sequence[Compared]) -> str:
    """Return the gain of a record for a user's jobs in its blocks, or NOT_YET if too few of them can be compared.

    A record's own gain was measured in a campaign, perhaps by a benchmark; only jobs show what a job gains.
    """
    found = measured(jobs)
    if found.gain is None or found.low is None or found.high is None:
        return NOT_YET
    return (
        f"your last {found.given} jobs with it: gain {found.gain:.0%} (95 %: {found.low:.0%} to {found.high:.0%}) of "
        f"the run time, compared with {found.held_out} held-out jobs"
    )
