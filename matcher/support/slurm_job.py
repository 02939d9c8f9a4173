# SPDX-License-Identifier: Apache-2.0
"""What Slurm says of a job."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import datetime

SCONTROL_TIMEOUT_S = 5.0


def slurm_says(job: str, cluster: str | None = None) -> dict[str, str]:
    """What `scontrol show job` says; nothing where it does not know the job, or is not there.

    `cluster` is another one than Slurm's own here.
    """
    where = [f"--clusters={cluster}"] if cluster else []
    try:
        told = subprocess.run(
            ["scontrol", "--oneliner", *where, "show", "job", job],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SCONTROL_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return dict(word.split("=", 1) for word in told.stdout.partition("\n")[0].split() if "=" in word)


def waits(said: Mapping[str, str]) -> bool:
    """Whether the job has not started."""
    return said.get("JobState") == "PENDING"


def user(said: Mapping[str, str]) -> str:
    """The job's user; "" where Slurm does not say."""
    return said.get("UserId", "").partition("(")[0]


def submit_time(said: Mapping[str, str]) -> float | None:
    """When the job was submitted (Unix seconds); None where Slurm does not say."""
    try:
        return datetime.fromisoformat(said["SubmitTime"]).timestamp()
    except (KeyError, ValueError):
        return None
