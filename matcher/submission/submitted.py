# SPDX-License-Identifier: Apache-2.0
"""A submission as a client sees it, before any of it is parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SCRIPT_LIMIT = 131_072
"""Characters of a script that are read; all others are ignored (docs/reference/protocol.md, "Frame")."""

TEXT_LIMIT = 1_024
"""Characters of one text in metadata (a name, a path, an option's value); longer ones are cut.

Together with the two limits below, it limits the cost of linking a job and the size of its stored metadata.
"""
ARGUMENT_LIMIT = 256
"""Words that are read of a program's command line, or of a script's or function's."""
ARGV_LIMIT = 1_024
"""Words that are read of the submitting command's line."""
MODULE_LIMIT = 64
"""Environment modules that are kept."""


@dataclass(frozen=True)
class Script:
    """A batch script. `truncated` means that `text` is only its beginning."""

    path: str
    text: str
    truncated: bool = False


@dataclass(frozen=True)
class Submission:
    """One call of a submitting command, as the client saw it (docs/reference/protocol.md, "decide").

    `command` is "sbatch", "salloc", "srun" or "batch" (the batch step at the job's start). `argv` begins with the
    command itself; it is empty for "batch". `cwd` is "" if unknown. `env` holds the SLURM_*, SBATCH_* and SALLOC_*
    variables, `set_names` the names of set variables that a component could inject. `script` is None if it cannot be
    read.
    """

    command: str
    argv: tuple[str, ...] = ()
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    set_names: tuple[str, ...] = ()
    script: Script | None = None

    @classmethod
    def for_script(cls, path: str, text: str, argv: Sequence[str] = (), cwd: str = "") -> Submission:
        """Return `sbatch ARGV... PATH` in `cwd`, to describe a job that nobody submits; `argv` are its options."""
        script = Script(path, text[:SCRIPT_LIMIT], truncated=len(text) > SCRIPT_LIMIT)
        return cls("sbatch", ("sbatch", *argv, "--", path), cwd or str(Path(path).parent), {}, (), script)


@dataclass(frozen=True)
class JobFacts:
    """Slurm's information about a job that has started, which overrides its options. None means unknown.

    `id` is the job's number, `restarts` counts how often Slurm has requeued it.
    """

    nodes: int | None = None
    tasks: int | None = None
    cluster: str | None = None
    id: int | None = None
    array_task: int | None = None
    restarts: int = 0
