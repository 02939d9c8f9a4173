# SPDX-License-Identifier: Apache-2.0
"""How many processors a campaign's trials had on a node, for records that hold for as many only."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from reprise.tuner.executors.trial_script import read_processors
from reprise.tuner.model.component import PROCESSORS, Publication

UNKNOWN = (
    "no record: how many threads are best depends on the processors that a job has on a node, and the trials do not "
    "say how many that were: run the campaign with `executor: {kind: slurm}`"
)
UNEQUAL = (
    "no record: how many threads are best depends on the processors that a job has on a node, and the trials had "
    "%s: ask for whole nodes of one kind in the script (--exclusive, --partition) and run the campaign again"
)


def with_processors(publications: Sequence[Publication], directory: Path) -> Sequence[Publication]:
    """The publications, each with the processors that its campaign's trials had, where it holds for as many only.

    `directory` is the campaign's. Where the trials do not agree, or do not say, the publication gives jobs nothing, and
    its note says why.
    """
    if not any(PROCESSORS in one.context for one in publications):
        return publications
    found = sorted(set(_seen(directory)))
    return [_filled(one, found) if PROCESSORS in one.context else one for one in publications]


def _seen(directory: Path) -> Iterator[int]:
    for trial in directory.glob("trial-*"):
        if (processors := read_processors(trial)) is not None:
            yield processors


def _filled(publication: Publication, found: Sequence[int]) -> Publication:
    if len(found) == 1:
        return dataclasses.replace(publication, context={**publication.context, PROCESSORS: found[0]})
    note = UNEQUAL % " or ".join(map(str, found)) if found else UNKNOWN
    context = {name: value for name, value in publication.context.items() if name != PROCESSORS}
    return dataclasses.replace(publication, environment={}, note=note, context=context)
