# SPDX-License-Identifier: Apache-2.0
"""Why a job is not given something."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """Words to follow what refuses, a record or the site: "was tuned for 8 nodes, and the job has 4".

    `until_start`: it is only not known yet; when the job starts it will be.
    """

    why: str
    until_start: bool = False
