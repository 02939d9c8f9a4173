# SPDX-License-Identifier: Apache-2.0
"""Programs of the skeleton benchmark, described in programs.toml, and their compilation as usual and as skeletons."""

from __future__ import annotations

import os
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from bench.skeleton.foreign_sources import fetched
from tests.places import ROOT

CATALOGUE = Path(__file__).with_name("programs.toml")
SHIM = Path(__file__).with_name("shim")
DRIVER = ROOT / "tuner/programs/skeleton/reprise-skeleton"
BUILD_TIMEOUT_S = 1800


class BenchProgram(BaseModel):
    """A program with its sources and arguments; programs.toml describes the fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    source: str = Field(default="", alias="from")
    files: tuple[str, ...]
    words: tuple[str, ...] = ()
    application_words: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    ranks: tuple[int, ...] = (2, 4)
    computing: tuple[str, ...] = ()
    tuned: tuple[str, ...] = ()
    refused: str = ""

    def folder(self, fetch: Callable[[str], Path] = fetched) -> Path:
        """Return the folder to which `files` is relative. Fetches the source package if necessary."""
        return fetch(self.source) if self.source else ROOT

    def sources(self, folder: Path) -> list[str]:
        """Return the source files, relative to the folder. Raises ValueError if a pattern of `files` matches none."""
        found = []
        for pattern in self.files:
            matches = sorted(str(path.relative_to(folder)) for path in folder.glob(pattern))
            if not matches:
                raise ValueError(f"{self.name}: {folder} has no {pattern}: has the package changed?")
            found += matches
        return found


def with_ranks(arguments: Sequence[str], ranks: int) -> list[str]:
    """Replace `{ranks}` in arguments with the number of ranks."""
    return [word.replace("{ranks}", str(ranks)) for word in arguments]


def read_programs(names: str = "", file: Path = CATALOGUE) -> list[BenchProgram]:
    """Return the programs named in a comma-separated list, or all. Raises ValueError for an unknown name."""
    described = tomllib.loads(file.read_text())
    wanted = names.split(",") if names else list(described)
    if missing := [name for name in wanted if name not in described]:
        raise ValueError(f"{file.name} has no {', '.join(missing)}: use some of {', '.join(described)}")
    return [BenchProgram.model_validate({"name": name, **described[name]}) for name in wanted]


def compile_application(program: BenchProgram, folder: Path, output: Path) -> None:
    """Compile the original program with mpicc."""
    words = ["mpicc", "-O2", "-w", f"-I{SHIM}", *program.words, *program.application_words]
    subprocess.run(
        [*words, *program.sources(folder), "-o", str(output), "-lm"], cwd=folder, check=True, timeout=BUILD_TIMEOUT_S
    )


def compile_skeleton(program: BenchProgram, folder: Path, output: Path, llvm: str) -> subprocess.CompletedProcess[str]:
    """Run reprise-skeleton on the program; the caller must check its exit status and output."""
    words = [str(DRIVER), "-o", str(output), *program.options, "-w", f"-I{SHIM}", *program.words]
    return subprocess.run(
        [*words, *program.sources(folder), "-lm"],
        cwd=folder,
        env=os.environ | ({"REPRISE_SKELETON_LLVM": llvm} if llvm else {}),
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_S,
        check=False,
    )
