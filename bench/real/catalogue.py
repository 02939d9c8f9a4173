# SPDX-License-Identifier: Apache-2.0
"""The catalogue of real programs: a data file and a batch script each, below `bench/real/programs/`.

NAME.toml describes the program, its input and a right result. NAME.sh is the batch script as a user would write it,
with its nodes and tasks; it measures the time that counts with `time` of the shell.
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
    """A program with its input.

    `kind` is what takes most of its time: communication, threads, or reading and writing. `files` are text files of its
    directory. `make` has shell commands that make the other files there, once. `data` has commands that make files on
    the machine's disk, once; these are dropped from memory before each run. `right` is a regular expression that occurs
    only in the output of a run with a right result.
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
    """Read a data file. Raises ValueError if it is wrong, OSError if it or the script is missing."""
    described = tomllib.loads(file.read_text())
    return Program(name=file.stem, script=file.with_suffix(".sh").read_text(), **described)


def programs(names: str = "") -> list[Program]:
    """Return all programs, or those of a comma-separated list, by name. Raises ValueError for an unknown name."""
    known = {file.stem: file for file in sorted(PROGRAMS.glob("*.toml"))}
    wanted = names.split(",") if names else list(known)
    if missing := [name for name in wanted if name not in known]:
        raise ValueError(f"bench/real/programs has no {', '.join(missing)}: use some of {', '.join(known)}")
    return [read(known[name]) for name in wanted]
