# SPDX-License-Identifier: Apache-2.0
"""Labeled pairs of jobs, and jobs of untuned applications, from made-up sites.

Unlike a site's own jobs, made-up sites show which similar pairs belong to one application.
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
"""Seeds of the made-up sites to which weights are fitted."""
HELD_OUT = range(1100, 1106)
"""Seeds of the made-up sites on which the threshold is chosen. `reprise match evaluate` uses different seeds."""

MISSING: tuple[dict[str, Any], ...] = (
    {"program": "", "path": "", "options": {}, "launcher": ""},
    {"script": ""},
    {"nodes": None, "tasks": None, "tasks_per_node": None},
    {"partition": ""},
    {"account": ""},
    {"directory": ""},
)
"""Groups of values; in some jobs, all values of one group are unknown."""
MISSING_OF = 0.02  # share of jobs in which the values of one group of MISSING are unknown


@functools.cache
def pairs() -> Pairs:
    """Return the pairs of jobs of the made-up sites with the seeds FITTED.

    The pairs are cached, because they never change and take seconds to generate.
    """
    return together([_of_site(SCENARIOS[name](seed), seed) for name in USED for seed in FITTED])


def _of_site(site: Scenario, seed: int) -> Pairs:
    rng = random.Random(f"missing {seed}")  # noqa: S311 - not used for security
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
    """Return the job; with probability MISSING_OF, make the values of one random group of MISSING unknown."""
    if rng.random() >= MISSING_OF:
        return job
    return dataclasses.replace(job, **rng.choice(MISSING))


def held_out(model: Model) -> dict[str, list[Answer]]:
    """Return, for each scenario, the answers of `model` for the jobs of the made-up sites with the seeds HELD_OUT."""
    return {name: answers(model, SCENARIOS[name], HELD_OUT) for name in USED}
