# SPDX-License-Identifier: Apache-2.0
"""The catalogue of real programs. Each program has a data file and a batch script in `bench/real/programs/`.

NAME.toml describes the program, its input, and how to recognize a correct result. NAME.sh is a batch script as a user
would write it, with numbers of nodes and tasks. The script measures the program's run time with the shell's `time`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

PROGRAMS = Path(__file__).parent / "programs"
Kind = Literal["mpi", "threads", "io"]


class Program(BaseModel):
    """A program and its input.

    `kind` says what takes most of the program's time: communication, threads, or reading and writing. `files` are text
    files in the program's directory. `make` contains shell commands that create the other files in this directory,
    once. `data` contains commands that create files on the machine's disk, once; these files are dropped from the page
    cache before each run. `right` is a regular expression that matches only the output of a run with a correct result.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    script: str
    title: str
    packages: tuple[str, ...]
    kind: Kind
    right: str
    files: Mapping[str, str] = Field(default_factory=dict)
    make: str = ""
    data: str = ""
    timeout_s: int = 180

    @property
    def nodes(self) -> int:
        """The number of nodes that the batch script requests."""
        found = re.search(r"^#SBATCH --nodes=(\d+)$", self.script, re.MULTILINE)
        return int(found[1]) if found else 1


def read(file: Path) -> Program:
    """Read a program's data file and script. Raises ValueError for invalid data, OSError for a missing file."""
    described = tomllib.loads(file.read_text())
    return Program(name=file.stem, script=file.with_suffix(".sh").read_text(), **described)


def programs(names: str = "") -> list[Program]:
    """Return the programs named in a comma-separated list, or all. Raises ValueError for an unknown name."""
    known = {file.stem: file for file in sorted(PROGRAMS.glob("*.toml"))}
    wanted = names.split(",") if names else list(known)
    if missing := [name for name in wanted if name not in known]:
        raise ValueError(f"bench/real/programs has no {', '.join(missing)}: use some of {', '.join(known)}")
    return [read(known[name]) for name in wanted]
