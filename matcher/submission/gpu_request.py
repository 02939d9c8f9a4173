# SPDX-License-Identifier: Apache-2.0
"""Whether a job gets GPUs, as far as its options and its environment show."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Options whose value is a number of GPUs ("4", "a100:4"), without their dashes.
_COUNTS = ("gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task")
# Options whose value lists generic resources ("gpu:2,nvme:1", "gres/gpu:1").
_LISTS = ("gres", "tres-per-task")
# Environment variables from which each command takes the values of these options. For "batch", a job that has started,
# Slurm sets the variables to what it has granted.
_VARIABLES = {
    "sbatch": ("SBATCH_GPUS", "SBATCH_GPUS_PER_NODE", "SBATCH_GPUS_PER_TASK", "SBATCH_GRES"),
    "salloc": ("SALLOC_GPUS", "SALLOC_GPUS_PER_NODE", "SALLOC_GPUS_PER_TASK", "SALLOC_GRES"),
    "srun": ("SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK", "SLURM_GRES"),
    "batch": ("SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE"),
}


def gets_gpus(options: Mapping[str, str], command: str, environment: Mapping[str, str]) -> bool:
    """Return whether a job visibly gets GPUs.

    `options` are the job's options without dashes. `environment` are the variables of `command` ("sbatch", "salloc",
    "srun", or "batch" for a job that has started). GPUs that the site, not the user, adds to a job are visible only
    once the job has started.
    """
    if any(_counts(options.get(name, "")) for name in _COUNTS) or any(_lists(options.get(name, "")) for name in _LISTS):
        return True
    values = ((name, environment.get(name, "")) for name in _VARIABLES.get(command, ()))
    return any(_lists(value) if name.endswith("_GRES") else _granted(name, value) for name, value in values)


def _counts(value: str) -> bool:
    """Return whether a list such as `4` or `a100:2,v100:0` has a number above 0."""
    return any(part.rpartition(":")[2].strip().strip("0") != "" for part in value.split(","))


def _granted(name: str, value: str) -> bool:
    # SLURM_JOB_GPUS lists the GPUs' indexes, so "0" means one GPU.
    return bool(value.strip()) if name == "SLURM_JOB_GPUS" else _counts(value)


def _lists(value: str) -> bool:
    """Return whether a list of resources has GPUs; the last word of a resource may be its count, which may be 0."""
    resources = (
        re.split("[:=]", part.strip().removeprefix("gres/").removeprefix("gres:")) for part in value.split(",")
    )
    return any(words[0] == "gpu" and words[-1] != "0" for words in resources)
