# SPDX-License-Identifier: Apache-2.0
"""The catalogue of real programs: a file of data and a batch script each, below `bench/real/programs/`.

NAME.toml says what the program is, its input and how a right result looks; NAME.sh is the batch script as a user would
write it, with its nodes and tasks. It times what counts by the shell's `time`.
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

    `kind` is what mostly takes its time, or waits: communication, threads, or reading and writing. `files`: texts that
    its directory holds. `make`: commands of the shell that make the rest there, once. `data`: commands that make files
    on the machine's disk, once; these are dropped from memory before each run. `right`: a regular expression that
    occurs in the output of a run that went well, and in no other.
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
        """How many the batch script asks for."""
        found = re.search(r"^#SBATCH --nodes=(\d+)$", self.script, re.MULTILINE)
        return int(found[1]) if found else 1


def read(file: Path) -> Program:
    """The program of a file of data. Raises ValueError where it is wrong, OSError where it or the script is missing."""
    described = tomllib.loads(file.read_text())
    return Program(name=file.stem, script=file.with_suffix(".sh").read_text(), **described)


def programs(names: str = "") -> list[Program]:
    """All programs, or those of a list with commas, by name. Raises ValueError for a name that is not there."""
    known = {file.stem: file for file in sorted(PROGRAMS.glob("*.toml"))}
    wanted = names.split(",") if names else list(known)
    if missing := [name for name in wanted if name not in known]:
        raise ValueError(f"bench/real/programs has no {', '.join(missing)}: give some of {', '.join(known)}")
    return [read(known[name]) for name in wanted]
