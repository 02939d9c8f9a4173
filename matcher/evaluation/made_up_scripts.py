# SPDX-License-Identifier: Apache-2.0
"""Batch scripts for made-up jobs, composed of a person's usual lines, the steps that a code needs, and the command.

All people who use a code have copied most of its steps from one list, so their scripts share steps. The other lines are
the person's usual lines. In some jobs' scripts, one of the person's usual lines is missing. Scripts use a separate
random generator, so that a scenario's jobs are otherwise the same with and without scripts.
"""

from __future__ import annotations

import dataclasses
import random

from reprise.matcher.evaluation.scenario import distinct_words
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.sketch import sketch

HABITS = (
    "set -euo pipefail",
    "ulimit -s unlimited",
    "ulimit -c 0",
    "umask 027",
    "date",
    "hostname",
    "module purge",
    "module list",
    "source ~/.bashrc",
    "cd $SLURM_SUBMIT_DIR",
    "mkdir -p output logs",
    "export OMP_NUM_THREADS=1",
    "export OMP_PLACES=cores OMP_PROC_BIND=close",
    "export LD_LIBRARY_PATH=$HOME/lib:$LD_LIBRARY_PATH",
    "export TMPDIR=/tmp/$USER",
    "echo Job $SLURM_JOB_ID on $SLURM_JOB_NODELIST",
    "echo Start: $(date)",
    "trap 'rm -rf $TMPDIR' EXIT",
    "rm -f core.*",
    "sleep 5",
    "env | sort > environment.txt",
)
STEPS = (
    "cp ../inputs/{word}.dat .",
    "ln -sf $SCRATCH/{word} restart",
    "python3 prepare_{word}.py --quiet",
    "sed -i s/CASE/$1/ {word}.cfg",
    "tar xf {word}.tgz",
    "test -e {word}.ok || exit 1",
    "export {word}_ROOT=/opt/{word}",
    "gzip -f {word}.log",
    "mv {word}.out results/",
    "grep -i warning {word}.log && mail -s {word} $USER < {word}.log",
)
HABITS_EACH, STEPS_EACH = (3, 7), (0, 4)
COPIED = 0.7  # share of a code's steps that a person copies from others
EDITED = 0.3  # share of jobs whose script lacks one of the person's usual lines


class Scripts:
    """Generator of batch scripts for the jobs of one site."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(f"scripts {seed}")  # noqa: S311 - not used for security
        self._habits: dict[str, list[str]] = {}
        self._steps: dict[str, list[str]] = {}
        self._lines: dict[tuple[str, str], tuple[list[str], list[str]]] = {}

    def given(self, job: JobMetadata, person: str, code: str) -> JobMetadata:
        """Return `job` with the sketch of a generated script that `person` would use to run `code`."""
        if (person, code) not in self._lines:
            self._lines[person, code] = self._written(person, code)
        before, after = (list(lines) for lines in self._lines[person, code])
        if self._rng.random() < EDITED:
            before.pop(self._rng.randrange(len(before)))
        command = [job.launcher, job.path]
        command += [f"--{key}={value}" if key else value for key, values in job.options.items() for value in values]
        modules = [f"module load {' '.join(job.modules)}"] if job.modules else []
        return dataclasses.replace(job, script=sketch("\n".join([*modules, *before, " ".join(command), *after])))

    def _written(self, person: str, code: str) -> tuple[list[str], list[str]]:
        rng = self._rng
        if person not in self._habits:
            self._habits[person] = rng.sample(HABITS, rng.randint(*HABITS_EACH))
        if code not in self._steps:
            words = [code, *distinct_words(rng, 2, (2, 3))]
            steps = rng.sample(STEPS, rng.randint(*STEPS_EACH))
            self._steps[code] = [step.format(word=rng.choice(words)) for step in steps]
        copied = [step for step in self._steps[code] if rng.random() < COPIED]
        half = len(copied) // 2
        return [*self._habits[person], *copied[:half]], copied[half:]
