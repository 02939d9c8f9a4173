# SPDX-License-Identifier: Apache-2.0
"""Folders with batch scripts of invented users, either as one file per script or in the output format of sacct."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

WORDS = ["kelp", "moss", "fern", "reed", "ivy", "oak", "elm", "yew", "fir", "ash", "palm", "sedge"]
STONES = ["quartz", "amber", "jade", "onyx"]
COUNTRIES = ["", "north", "south"]
HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --account=def-smith\n"


def scripts(owners: int, variants: int = 3) -> Iterator[tuple[int, int, int, str]]:
    """Yield (owner, application, variant, text) for four applications of each owner; there are names for 36 owners."""
    names = [f"{country}{word}" for country, word in product(COUNTRIES, WORDS)][:owners]
    for (owner, word), (application, stone), variant in product(enumerate(names), enumerate(STONES), range(variants)):
        name = f"{word}{stone}"
        yield owner, application, variant, f"{HEAD}module load {name}\nsrun ./{name} --case {variant}\n"


def write_files(folder: Path, owners: int, variants: int = 3) -> Path:
    """Write the scripts to files OWNER/PROJECT/PATH in `folder`, and return `folder`."""
    for owner, application, variant, text in scripts(owners, variants):
        file = folder / f"user{owner}" / f"code{owner}" / f"{'abcd'[application]}{variant}.sh"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def write_accounting(folder: Path, owners: int) -> Path:
    """Write jobs, each submitted twice, and their scripts in sacct's format to `folder`, and return `folder`."""
    jobs = ["JobID|User|Account|Partition|NNodes|ElapsedRaw|Submit|WorkDir|JobName|SubmitLine"]
    printed = []
    for number, (owner, application, variant, text) in enumerate([*scripts(owners)] * 2, 1):
        user, name = f"user{owner}", f"{'abcd'[application]}{variant}.sh"
        directory = f"/home/{user}/code{owner}/run{number}"
        jobs.append(f"{number}|{user}|def-smith|main|2|60|2026-11-25T14:17:32|{directory}|{name}|sbatch {name}")
        printed.append(f"Batch Script for {number}\n{'-' * 80}\n{text}\n")
    (folder / "jobs.txt").write_text("\n".join(jobs) + "\n")
    (folder / "scripts.txt").write_text("".join(printed))
    return folder
