# SPDX-License-Identifier: Apache-2.0
"""Pairs with known matches, and jobs of untuned applications, from made-up sites (docs/explanation/evaluation.md).

They supply what a site's own jobs cannot: which similar pairs are of one application.
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
"""Seeds of the sites that the threshold is chosen by. `reprise match evaluate` uses different ones."""

MISSING: tuple[dict[str, Any], ...] = (
    {"program": "", "path": "", "options": {}, "launcher": ""},
    {"script": ""},
    {"nodes": None, "tasks": None, "tasks_per_node": None},
    {"partition": ""},
    {"account": ""},
    {"directory": ""},
)
"""Groups of values that may be unknown in a job."""
MISSING_OF = 0.02  # share of jobs in which one of the groups is unknown


@functools.cache
def pairs() -> Pairs:
    """Return the pairs of the sites with the seeds FITTED; they never change, and take seconds to make."""
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
    """Return the job, possibly with unknown values."""
    if rng.random() >= MISSING_OF:
        return job
    return dataclasses.replace(job, **rng.choice(MISSING))


def held_out(model: Model) -> dict[str, list[Answer]]:
    """Return the answers of `model` for the jobs of the sites with the seeds HELD_OUT, by scenario."""
    return {name: answers(model, SCENARIOS[name], HELD_OUT) for name in USED}
