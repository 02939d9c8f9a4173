# SPDX-License-Identifier: Apache-2.0
"""Pairs of which it is known whether they match, and jobs that nobody tuned: of made-up sites (docs/evaluation.md).

They say what the jobs of a site cannot say by themselves: which of the pairs that are alike are of one application.
"""

from __future__ import annotations

import dataclasses
import functools
import random
from typing import Any

import numpy as np

from reprise.matcher.calibration import site_template
from reprise.matcher.calibration.pairs import Against, Pairs, counted, together
from reprise.matcher.evaluation.measurement import Answer, answers
from reprise.matcher.evaluation.scenario import Scenario
from reprise.matcher.evaluation.scenario_catalogue import SCENARIOS
from reprise.matcher.linkage.linkage_model import Model
from reprise.matcher.submission.metadata import JobMetadata

USED = ("thesis", "hard")
FITTED = range(1000, 1006)
"""Seeds of the sites that weights are fitted to."""
HELD_OUT = range(1100, 1106)
"""Seeds of those that the threshold is chosen by. `reprise match evaluate` has others again."""

MISSING: tuple[dict[str, Any], ...] = (
    {"program": "", "path": "", "options": {}, "launcher": ""},
    {"script": ""},
    {"nodes": None, "tasks": None, "tasks_per_node": None},
    {"partition": ""},
    {"account": ""},
    {"directory": ""},
)
"""What may be unknown of a job, together."""
MISSING_OF = 0.02  # share of jobs of which one of these is


@functools.cache
def pairs() -> Pairs:
    """Those of the sites with the seeds FITTED. They are always the same, and take seconds to make."""
    return together([_of_site(SCENARIOS[name](seed), seed) for name in USED for seed in FITTED])


def _of_site(site: Scenario, seed: int) -> Pairs:
    rng = random.Random(f"missing {seed}")  # noqa: S311 - a simulation
    records = [dataclasses.replace(one, metadata=_lacking(one.metadata, rng)) for one in site.records]
    against = Against(site_template.unweighted(), records, cluster_nodes=site.cluster_nodes, timezone="UTC")
    applications = np.array(site.applications)
    levels, matches = [], []
    for query in site.queries:
        others = np.arange(len(records)) != (-1 if query.own is None else query.own)
        levels.append(against.levels(_lacking(query.job, rng))[others])
        matches.append((applications == query.application)[others])
    return counted(np.concatenate(levels), np.concatenate(matches))


def _lacking(job: JobMetadata, rng: random.Random) -> JobMetadata:
    """The job, of which something may be unknown."""
    if rng.random() >= MISSING_OF:
        return job
    return dataclasses.replace(job, **rng.choice(MISSING))


def held_out(model: Model) -> dict[str, list[Answer]]:
    """What `model` answers to the jobs of the sites with the seeds HELD_OUT, by scenario."""
    return {name: answers(model, SCENARIOS[name], HELD_OUT) for name in USED}
