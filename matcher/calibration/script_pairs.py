# SPDX-License-Identifier: Apache-2.0
"""Pairs of jobs of people's own scripts, of which the files say whether they are of one application."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from reprise.matcher.calibration import site_template
from reprise.matcher.calibration.pairs import Against, Pairs, counted, together
from reprise.matcher.evaluation.script_labels import LabelledScript, may_be_the_same
from reprise.matcher.evaluation.script_scenarios import CLUSTER_NODES, ScriptSite, groups, strangers

SEEDS = range(1000, 1003)
"""Seeds of the sites that weights are fitted to; evaluation has others."""


def pairs(scripts: Sequence[LabelledScript], seeds: Sequence[int] = SEEDS) -> Pairs:
    """Pair each job that asks with each record of its site, but for pairs that count neither way.

    At least one site has a record and a job that asks: so it is where two owners have scripts with a label.
    """
    made = (site for seed in seeds for site in chain(groups(scripts, seed), [strangers(scripts, seed)]))
    return together([_of_site(site) for site in made if site.records and site.asking])


def _of_site(site: ScriptSite) -> Pairs:
    against = Against(site_template.unweighted(), site.records, cluster_nodes=CLUSTER_NODES, timezone="UTC")
    applications = np.array([script.application for script in site.scripts])
    levels, matches = [], []
    for asking in site.asking:
        counts = np.array([_counts(asking.script, script) for script in site.scripts])
        levels.append(against.levels(asking.job)[counts])
        matches.append((applications == asking.script.application)[counts])
    return counted(np.concatenate(levels), np.concatenate(matches))


def _counts(asking: LabelledScript, known: LabelledScript) -> bool:
    """Whether the files say if the two are of one application; of two owners' scripts they may leave it open."""
    return asking.script.owner == known.script.owner or not may_be_the_same(asking, known)
