# SPDX-License-Identifier: Apache-2.0
"""Restrict records to the processors, tasks and memory per node that Slurm gave a campaign's trials."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from reprise.tuner.executors.trial_script import read_sizes
from reprise.tuner.model.component import MEMORY, PROCESSORS, TASKS_PER_NODE, FromTrials, Publication

NOUNS = {PROCESSORS: "processors", TASKS_PER_NODE: "tasks", MEMORY: "MiB of memory"}


def with_sizes(publications: Sequence[Publication], trials: Iterable[Path]) -> Sequence[Publication]:
    """Return the publications with each `FromTrials` in their contexts replaced by the size that all trials had.

    `trials` are the directories of the trials that have a value. If a size differs between the trials, or if it is
    unknown and has no fallback, the publication gets no settings for jobs, and its note gives the reason.
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
        sizes = {one.get(name) for one in seen}
        found = next(iter(sizes)) if len(sizes) == 1 else None
        found = value.otherwise if sizes <= {None} else found
        if found is None:
            kept = {key: one for key, one in publication.context.items() if not isinstance(one, FromTrials)}
            note = _unknown(name) if sizes <= {None} else _unequal(name, sizes)
            return dataclasses.replace(publication, environment={}, note=note, context=kept)
        context[name] = found
    return dataclasses.replace(publication, context=context)


def _unequal(name: str, sizes: Iterable[int | None]) -> str:
    remedy = "the same --mem for all trials" if name == MEMORY else "whole nodes of one kind (--exclusive, --partition)"
    numbers = [str(one) for one in sorted(one for one in sizes if one is not None)]
    counts = " or ".join(numbers + ["a different number on each"] * (None in sizes))
    return (
        f"no record: the best settings depend on the {NOUNS[name]} per node, and the trials had {counts}: request "
        f"{remedy} in the script and run the campaign again"
    )


def _unknown(name: str) -> str:
    return (
        f"no record: the best settings depend on the {NOUNS[name]} per node, and the trials did not report the number: "
        "run the campaign with `executor: {kind: slurm}`"
    )
