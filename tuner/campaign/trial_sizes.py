# SPDX-License-Identifier: Apache-2.0
"""What Slurm gave a campaign's trials on each node, for records that hold for as much only."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from reprise.tuner.executors.trial_script import read_sizes
from reprise.tuner.model.component import MEMORY, PROCESSORS, TASKS_PER_NODE, FromTrials, Publication

NOUNS = {PROCESSORS: "processors", TASKS_PER_NODE: "tasks", MEMORY: "MiB of memory"}


def with_sizes(publications: Sequence[Publication], trials: Iterable[Path]) -> Sequence[Publication]:
    """The publications with what their campaign's trials had, where a context leaves that to them.

    `trials` are the directories of those that have a value. Where they do not agree, or do not say what there is no
    other word for, the publication gives jobs nothing, and its note says why.
    """
    if not any(isinstance(value, FromTrials) for one in publications for value in one.context.values()):
        return publications
    seen = [read_sizes(directory) for directory in trials]
    return [_filled(one, seen) for one in publications]


def _filled(publication: Publication, seen: Sequence[Mapping[str, int]]) -> Publication:
    context: dict[str, object] = {}
    for name, value in publication.context.items():
        if not isinstance(value, FromTrials):
            context[name] = value
            continue
        said = {one.get(name) for one in seen}
        found = next(iter(said)) if len(said) == 1 else None
        found = value.otherwise if said <= {None} else found
        if found is None:
            kept = {key: one for key, one in publication.context.items() if not isinstance(one, FromTrials)}
            note = _unknown(name) if said <= {None} else _unequal(name, said)
            return dataclasses.replace(publication, environment={}, note=note, context=kept)
        context[name] = found
    return dataclasses.replace(publication, context=context)


def _unequal(name: str, said: Iterable[int | None]) -> str:
    numbers = [str(one) for one in sorted(one for one in said if one is not None)]
    counts = " or ".join(numbers + ["another number on each"] * (None in said))
    return (
        f"no record: what is best depends on the {NOUNS[name]} that a job has on a node, and the trials had {counts}: "
        "ask for whole nodes of one kind in the script (--exclusive, --partition) and run the campaign again"
    )


def _unknown(name: str) -> str:
    return (
        f"no record: what is best depends on the {NOUNS[name]} that a job has on a node, and the trials do not say how "
        "many that were: run the campaign with `executor: {kind: slurm}`"
    )
