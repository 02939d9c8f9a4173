# SPDX-License-Identifier: Apache-2.0
"""Slurm's information about a job, and the name of its cluster, from scontrol."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from datetime import datetime

SCONTROL_TIMEOUT_S = 5.0


def slurm_says(job: str, cluster: str | None = None) -> dict[str, str]:
    """Return the fields of `scontrol show job`; empty if Slurm does not know the job or scontrol fails.

    `cluster` is the name of another cluster, or None for the cluster of this host.
    """
    where = [f"--clusters={cluster}"] if cluster else []
    told = _scontrol("--oneliner", *where, "show", "job", job)
    return dict(word.split("=", 1) for word in told.partition("\n")[0].split() if "=" in word)


def cluster_name() -> str:
    """Return the ClusterName of this host's Slurm in lower case, as Slurm gives it to jobs; "" if scontrol fails."""
    found = re.search(r"^ClusterName\s*=\s*(\S+)", _scontrol("show", "config"), re.MULTILINE)
    return found[1].lower() if found else ""


def waits(said: Mapping[str, str]) -> bool:
    """Return whether the job waits in Slurm's queue."""
    return said.get("JobState") == "PENDING"


def user(said: Mapping[str, str]) -> str:
    """Return the name of the job's user; "" if Slurm does not report it."""
    return said.get("UserId", "").partition("(")[0]


def submit_time(said: Mapping[str, str]) -> float | None:
    """Return the job's time of submission in Unix seconds; None if Slurm does not report it."""
    try:
        return datetime.fromisoformat(said["SubmitTime"]).timestamp()
    except (KeyError, ValueError):
        return None


def _scontrol(*arguments: str) -> str:
    """Return the output of scontrol, even if it fails; "" if it cannot run or does not answer."""
    try:
        return subprocess.run(
            ["scontrol", *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SCONTROL_TIMEOUT_S,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
