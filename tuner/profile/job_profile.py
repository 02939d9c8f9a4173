# SPDX-License-Identifier: Apache-2.0
"""Make a profile of a job that ran with --reprise=profile."""

from __future__ import annotations

from pathlib import Path

from reprise.tuner.errors import TunerError
from reprise.tuner.profile.merge import merge
from reprise.tuner.profile.process_report import read_reports
from reprise.tuner.profile.profile_values import Profile


def profile_of(directory: Path) -> Profile:
    """Merge the reports in `directory`, which a job's processes wrote, into a profile.

    Raise TunerError if the reports cannot be read or contradict each other. The reports belong to a user, who may have
    changed them.
    """
    reports = read_reports(directory)
    try:
        return merge(reports)
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
        raise TunerError(
            f"{directory}: its reports contradict each other ({type(error).__name__}): profile the job again"
        ) from error
