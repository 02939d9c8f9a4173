# SPDX-License-Identifier: Apache-2.0
"""Convert a plan of a trial to the settings of an ordinary job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from reprise.tuner.model.component import TrialPlan


class JobSettings(TypedDict):
    """Variables of a job, and the files that they name in `{directory}`."""

    environment: Mapping[str, str]
    files: Mapping[str, str]


def job_settings(plan: TrialPlan) -> JobSettings:
    """Return the variables and files of a plan, with its libraries in LD_PRELOAD."""
    preload = {"LD_PRELOAD": ":".join(plan.preload)} if plan.preload else {}
    return {"environment": {**plan.environment, **preload}, "files": dict(plan.files)}
