# SPDX-License-Identifier: Apache-2.0
"""The reason why a job does not get settings."""

from __future__ import annotations

from dataclasses import dataclass

BY_THE_SITE = "the site "  # beginning of a decision's reason if the site refuses the job before records are considered
NO_RECORD, NONE_SIMILAR = "no tuned job is known yet", "no similar tuned job is known"


@dataclass(frozen=True)
class Refusal:
    """A reason to refuse settings, worded to follow a record's name or "the site".

    An example is "was tuned for 8 nodes, and the job has 4". If `until_start` is True, the reason is a lack of
    information that will be available when the job starts.
    """

    why: str
    until_start: bool = False


def why_none(reason: str) -> str:
    """Return the kind of a reason for the verdict `none`.

    `access`: the site refuses the job. `no record near`: no record is similar enough. `guard`: a record is, and a guard
    refuses its settings to this job.
    """
    if reason.startswith(BY_THE_SITE):
        return "access"
    return "no record near" if reason in (NO_RECORD, NONE_SIMILAR) else "guard"
