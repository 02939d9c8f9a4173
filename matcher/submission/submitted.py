# SPDX-License-Identifier: Apache-2.0
"""A submission as the client sends it, before parsing, and limits on what is parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SCRIPT_LIMIT = 131_072
"""Maximum number of characters of a script that are read; the rest is ignored (docs/reference/protocol.md, "Frame")."""

TEXT_LIMIT = 1_024
"""Maximum number of characters of one text in metadata (a name, a path, an option's value); longer texts are truncated.

This limit, ARGUMENT_LIMIT and MODULE_LIMIT together limit the cost of linking a job and the size of its stored
metadata.
"""
ARGUMENT_LIMIT = 256
"""Maximum number of arguments of a program, script or function that are read; further arguments are ignored."""
ARGV_LIMIT = 1_024
"""Maximum number of words that are read of an sbatch, srun or salloc command line; further words are ignored."""
MODULE_LIMIT = 64
"""Maximum number of environment modules that are kept for one job."""


@dataclass(frozen=True)
class Script:
    """A batch script; if `truncated` is True, `text` is only the beginning of the script."""

    path: str
    text: str
    truncated: bool = False


@dataclass(frozen=True)
class Submission:
    """One call of sbatch, salloc or srun, or one start of a batch job (docs/reference/messages.md, "decide").

    `command` is "sbatch", "salloc", "srun" or "batch" (the batch step at the job's start). `argv` begins with the
    command itself; it is empty for "batch". `cwd` is the working directory, "" if unknown. `env` contains the SLURM_*,
    SBATCH_* and SALLOC_* variables. `set_names` are the names of variables in the user's environment that a component
    could also set. `script` is None if the client cannot read the script.
    """

    command: str
    argv: tuple[str, ...] = ()
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    set_names: tuple[str, ...] = ()
    script: Script | None = None

    @classmethod
    def for_script(cls, path: str, text: str, argv: Sequence[str] = (), cwd: str = "") -> Submission:
        """Return the submission `sbatch ARGV... PATH` in `cwd`, for a job that nobody has submitted.

        `argv` contains the options. Without `cwd`, the working directory is the script's directory.
        """
        script = Script(path, text[:SCRIPT_LIMIT], truncated=len(text) > SCRIPT_LIMIT)
        return cls("sbatch", ("sbatch", *argv, "--", path), cwd or str(Path(path).parent), {}, (), script)


@dataclass(frozen=True)
class JobFacts:
    """Slurm's information about a job that has started, which overrides the job's options; None means unknown.

    `id` is the job's number, and `restarts` is the number of times that Slurm has requeued the job.
    """

    nodes: int | None = None
    tasks: int | None = None
    cluster: str | None = None
    id: int | None = None
    array_task: int | None = None
    restarts: int = 0
