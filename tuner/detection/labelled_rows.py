# SPDX-License-Identifier: Apache-2.0
"""Rows to train and test detectors: features with a known class, from the centres of runs (Bez 2020, section 3.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from reprise.matcher.council.pattern_detector import AccessClass, Features
from reprise.matcher.detection.detector_inputs import problem
from reprise.matcher.detection.recorded_features import Recorded
from reprise.tuner.errors import TunerError

TRAINING_SHARE = 0.7
"""Share of the rows that are used for training; the others are the test set."""
FOLDS = 5
"""Number of parts into which runs are divided to calibrate probabilities; each is judged by models of the others."""


@dataclass(frozen=True)
class Row:
    """Features with their class; `run` is the run of a program that they are from."""

    run: str
    known: AccessClass
    features: Features


def centres(recorded: Iterable[Recorded], per_run: int, name: str) -> list[Row]:
    """Return the rows from the centre of each run in a file called `name`: equally many, at most `per_run`, of each.

    Features that do not allow a detection are left out. Raise TunerError if a class is missing.
    """
    runs: dict[str, list[Recorded]] = defaultdict(list)
    for one in recorded:
        if one.known is not None and not problem(one.features):
            runs[one.run].append(one)
    missing = sorted(set(AccessClass) - {one.known for some in runs.values() for one in some})
    if missing:
        raise TunerError(f"{name}: no run has the class {missing[0]}: record runs of each class")
    count = min(per_run, *(len(some) for some in runs.values()))
    return [
        Row(run, one.known, one.features)
        for run, some in runs.items()
        for one in _centre(some, count)
        if one.known is not None
    ]


def _centre(some: Sequence[Recorded], count: int) -> Sequence[Recorded]:
    """Return the rows that are nearest to the middle of a run, in order of time."""
    middle = (min(one.at for one in some) + max(one.at for one in some)) / 2
    nearest = sorted(some, key=lambda one: abs(one.at - middle))[:count]
    return sorted(nearest, key=lambda one: one.at)


def split(rows: Sequence[Row], seed: int) -> tuple[list[Row], list[Row]]:
    """Return the training and the test set: 70 % of each class at random, and the others."""
    rng = Random(seed)  # noqa: S311 - not used for security
    training: list[Row] = []
    test: list[Row] = []
    for known in AccessClass:
        of_class = [row for row in rows if row.known is known]
        rng.shuffle(of_class)
        count = round(TRAINING_SHARE * len(of_class))
        training += of_class[:count]
        test += of_class[count:]
    return training, test


def folds(rows: Sequence[Row], seed: int) -> list[tuple[list[Row], list[Row]]]:
    """Return pairs of rows to fit a model, and rows of other runs that it judges; each row is judged once.

    Raise TunerError if a class has one run only.
    """
    rng = Random(seed)  # noqa: S311 - not used for security
    fold_of: dict[str, int] = {}
    for known in AccessClass:
        runs = sorted({row.run for row in rows if row.known is known})
        if len(runs) < 2:
            raise TunerError(f"only one run has the class {known}: record at least two runs of each class")
        rng.shuffle(runs)
        fold_of |= {run: index % FOLDS for index, run in enumerate(runs)}
    used = sorted(set(fold_of.values()))
    return [
        ([row for row in rows if fold_of[row.run] != fold], [row for row in rows if fold_of[row.run] == fold])
        for fold in used
    ]
