# SPDX-License-Identifier: Apache-2.0
"""Variables that the user has set indirectly, by an option of sbatch, srun, salloc or mpirun.

Slurm or mpirun sets a variable for each of these options. Because the matcher cannot predict which lines of the script
will run, it searches the whole script, and every text that may be an option counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from reprise.matcher.submission import Submission
from reprise.matcher.submission.slurm_options import given_options

_COMMENT = re.compile(r"^[ \t]*#(?!SBATCH\b|!).*$", re.MULTILINE)
_CONTINUED = re.compile(r"\\\n")

BEFORE = r"[\s\"'=(]"
"""Pattern that matches the character before an option.

This character is a blank, a quote, `=` or `(`, so that options in a variable's value or in an array are found too, as
in `OPTIONS="--bind-to none"`.
"""


@dataclass(frozen=True)
class _SlurmOption:
    """A Slurm option, and the ways to set it; `name` is the option's name in the option tables.

    `variable` is the variable that Slurm sets for the option. `end` is the suffix of the Slurm input variables, such as
    `SBATCH_DISTRIBUTION`, that have the same effect as the option. `pattern` finds the option in a script.
    """

    name: str
    variable: str
    end: str
    pattern: re.Pattern[str]


_SLURM_OPTIONS = (
    _SlurmOption(
        "distribution",
        "SLURM_DISTRIBUTION",
        "_DISTRIBUTION",
        re.compile(
            rf"--di(?<={BEFORE}--di)(?:s(?:t[a-z]*)?)?[=\s]"
            rf"|m(?<={BEFORE}-m)[\s=]*[\"']?(?i:block|cyclic|plane|arbitrary|fcyclic|no_?pack|pack|\*|[$`])"
        ),
    ),
    _SlurmOption(
        "cpus-per-task",
        "SLURM_CPUS_PER_TASK",
        "_CPUS_PER_TASK",
        re.compile(rf"--cpus-per-t(?<={BEFORE}--cpus-per-t)[a-z]*[=\s]|c(?<={BEFORE}-c)(?:[\s=]*[\"']?[0-9]|[$`])"),
    ),
    _SlurmOption(
        "cpu-bind", "SLURM_CPU_BIND", "_CPU_BIND", re.compile(rf"--cpu[-_]bi(?<={BEFORE}--cpu.bi)[a-z]*[=\s]")
    ),
    _SlurmOption("hint", "SLURM_HINT", "_HINT", re.compile(rf"--hi(?<={BEFORE}--hi)[a-z]*[=\s]")),
)

# Options of mpirun 4.1 and 5, with one dash or two. mpirun refuses some combinations of options and variables, so each
# option counts as setting all MPIRUN_VARIABLES.
_MPIRUN_OPTION = re.compile(
    rf"-(?<={BEFORE}-)-?(?:map-by|rank-by|bind-to\b|bind-to-|bynode|byslot|bycore|bysocket|npernode|npersocket|pernode|"
    r"ppr\b|rankfile|rf\s|cpus-per-(?:rank|proc)|cpu-set|cpu-list|slot-list|nolocal|use-hwthread-cpus|display-map)"
)
_TASKS_PER_NODE = re.compile(rf"-N(?<={BEFORE}-N)\s")
"""Pattern of mpirun's option `-N` (tasks per node); Slurm's `-N` is a number of nodes and does not place tasks."""
_OF_SLURM = re.compile(r"^[ \t]*#SBATCH\b|\b(?:srun|sbatch|salloc)\b(?!.*\b(?:mpirun|mpiexec|orterun|prterun)\b)")
MPIRUN_VARIABLES = (
    "OMPI_MCA_rmaps_base_mapping_policy",
    "OMPI_MCA_rmaps_base_ranking_policy",
    "OMPI_MCA_hwloc_base_binding_policy",
    "PRTE_MCA_rmaps_default_mapping_policy",
    "PRTE_MCA_rmaps_default_ranking_policy",
    "PRTE_MCA_hwloc_default_binding_policy",
)


def chosen_by_options(submission: Submission) -> tuple[str, ...]:
    """Return the names of the variables that are set by a job's options or by Slurm's input variables."""
    return tuple(dict.fromkeys(_chosen(submission)))


def _chosen(submission: Submission) -> Iterator[str]:
    given = given_options(submission).values
    script = submission.script.text if submission.script else ""
    text = " ".join(
        [submission.command, *submission.argv, ""]
    )  # a command line of srun may contain a whole script: bash -c '...'
    texts = [f" {text}"] + ([" " + _CONTINUED.sub(" ", _COMMENT.sub("", script))] if "-" in script else [])
    for option in _SLURM_OPTIONS:
        by_variable = any(name.endswith(option.end) for name in submission.env)
        if option.name in given or by_variable or any(option.pattern.search(text) for text in texts):
            yield option.variable
    if any(_MPIRUN_OPTION.search(text) or _names_tasks_per_node(text) for text in texts):
        yield from MPIRUN_VARIABLES


def _names_tasks_per_node(text: str) -> bool:
    """Return whether any line has an option `-N` that may be mpirun's, because it does not clearly belong to Slurm."""
    return "-N" in text and any(
        _TASKS_PER_NODE.search(f" {line}") and not _OF_SLURM.search(line) for line in text.splitlines()
    )
