# SPDX-License-Identifier: Apache-2.0
"""Known messages of launchers that cannot start a program, with advice on the remedy for each.

The messages are those of srun (Slurm 20.11 to 26.05), of shells, and of mpirun (Open MPI 4 with ORTE, 5 and 6 with
PRRTE).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Packages with the library that Slurm's plugin for PMIx loads. srun lists the plugin even if the library is missing.
PMIX = "Debian 12: libpmix-dev, which has libpmix.so; EL: pmix, and a Slurm built with it; Debian sid's Slurm has none"
CHOOSE = "set `launcher: {}` under `executor` in the campaign file (in an application's own script: use {})"
USE_MPIRUN, USE_SRUN = CHOOSE.format("mpirun", "mpirun"), CHOOSE.format("srun", "srun")


@dataclass(frozen=True)
class LaunchFailure:
    """Failure of a launcher: a pattern for the line that shows the cause, and advice on the remedy.

    If `advice` is "{plugin}", the advice comes from `plugin_advice`, for the plugin that the pattern's first group
    matches.
    """

    pattern: re.Pattern[str]
    advice: str


def _failure(pattern: str, advice: str) -> LaunchFailure:
    return LaunchFailure(re.compile(pattern, re.IGNORECASE), advice)


def plugin_advice(plugin: str) -> str:
    """Return the remedy if srun lacks, or cannot load, the plugin for `--mpi=PLUGIN`."""
    if plugin.startswith("pmix"):
        return f"{USE_MPIRUN}, or install Slurm's plugin {plugin} and its library on all nodes ({PMIX})"
    return f"{USE_MPIRUN}, or `mpi:` to one of the plugins that `srun --mpi=list` shows"


_MISSING = r"\W?: (?:command not found|not found|no such file or directory|cannot be run)"
# In order of precedence: if an output matches several patterns, the first of them shows the cause. The others match
# consequences, which srun prints after the cause.
FAILURES = (
    _failure(r"can ?not load PMIx library", plugin_advice("pmix")),
    _failure(r"invalid MPI type '(?:mpi/)?([\w.-]+)'", "{plugin}"),
    _failure(r"(?:plugin name for|context for|mpi plugin for) mpi/([\w.-]+)", "{plugin}"),
    _failure(
        r"(?:^|\W)(?:mpirun|mpiexec|orterun)" + _MISSING,
        f"install Open MPI, or set openmpi.mpirun in reprise.toml to the path of mpirun; or {USE_SRUN}",
    ),
    _failure(r"(?:^|\W)srun" + _MISSING, f"{USE_MPIRUN}, or install Slurm's commands on all nodes"),
    _failure(
        r"not enough slots available",
        f"request a task from Slurm for each rank (nodes, tasks_per_node); or {USE_SRUN}",
    ),
    _failure(
        r"(?:ORTE|PRTE) daemon has unexpectedly failed|unable to reliably start one or more daemons"
        r"|(?:orted|prted)" + _MISSING,
        f"install Open MPI under the same path on all nodes; or {USE_SRUN}",
    ),
)


def cause(output: str) -> str:
    """Return the line of an output that shows why a launcher failed, cut to 300 characters; "" if there is none."""
    lines = [line.strip() for line in output.splitlines()]
    return next((line[:300] for failure in FAILURES for line in lines if failure.pattern.search(line)), "")


def advice(text: str) -> str:
    """Return the advice for the launcher failure that a text shows, or "" if it shows no known failure."""
    for failure in FAILURES:
        if found := failure.pattern.search(text):
            return plugin_advice(found[1]) if failure.advice == "{plugin}" else failure.advice
    return ""
