# SPDX-License-Identifier: Apache-2.0
"""Pairs of jobs of people's own scripts, labelled by whether they are of one application."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from reprise.matcher.calibration import site_template
from reprise.matcher.calibration.pairs import Against, Levels, Pairs, together
from reprise.matcher.evaluation.script_labels import LabelledScript, may_be_the_same
from reprise.matcher.evaluation.script_scenarios import CLUSTER_NODES, ScriptSite, groups, strangers

SEEDS = range(1000, 1003)
"""Seeds of the sites that weights are fitted to; evaluation has others."""
SHARE = 0.2
"""Weight of all matching pairs together, as a share of that of the made-up ones."""
MOST = 3.0
"""Largest weight of a pair relative to a made-up pair, if there are few pairs."""
DOUBT = 0.35
"""Weight of a doubtful pair relative to a sure one."""


@dataclass(frozen=True)
class ScriptPairs:
    """Pairs with certain labels (`sure`) and with uncertain ones (`doubtful`).

    Doubtful pairs are two scripts of one owner with different labels that share a program. Some are of one application,
    but all count as if they were not.
    """

    sure: Pairs
    doubtful: Pairs

    def beside(self, made_up: Pairs) -> ScriptPairs:
        """Return the pairs weighted for use in addition to made-up ones."""
        weight = min(MOST, SHARE * made_up.matched.sum() / max(1.0, self.sure.matched.sum()))
        return ScriptPairs(self.sure.times(weight), self.doubtful.times(weight))

    def all(self) -> Pairs:
        """Return all pairs, the doubtful ones with their weight."""
        return together([self.sure, self.doubtful.times(DOUBT)])


def pairs(scripts: Sequence[LabelledScript], seeds: Sequence[int] = SEEDS) -> ScriptPairs:
    """Pair each asking job with each record of its site, except for pairs that count neither way.

    At least one site must have a record and an asking job, which is so if two owners have labelled scripts.
    """
    made = (site for seed in seeds for site in chain(groups(scripts, seed), [strangers(scripts, seed)]))
    found = [_of_site(site) for site in made if site.records and site.asking]
    return ScriptPairs(together([one.sure for one in found]), together([one.doubtful for one in found]))


def _of_site(site: ScriptSite) -> ScriptPairs:
    against = Against(site_template.unweighted(), site.records, cluster_nodes=CLUSTER_NODES, timezone="UTC")
    applications = np.array([script.application for script in site.scripts])
    owners = np.array([script.script.owner for script in site.scripts])
    levels, matches, doubts, counts = [], [], [], []
    for asking in site.asking:
        same = applications == asking.script.application
        open_to_doubt = np.array([may_be_the_same(asking.script, script) for script in site.scripts]) & ~same
        levels.append(against.levels(asking.job))
        matches.append(same)
        doubts.append(open_to_doubt)
        counts.append(~open_to_doubt | (owners == asking.script.script.owner))
    every, is_match, is_doubtful = np.concatenate(levels), np.concatenate(matches), np.concatenate(doubts)
    is_counted = np.concatenate(counts)
    return ScriptPairs(
        _pairs(every, is_match, is_counted & ~is_doubtful), _pairs(every, is_match, is_counted & is_doubtful)
    )


def _pairs(levels: Levels, matches: npt.NDArray[np.bool_], chosen: npt.NDArray[np.bool_]) -> Pairs:
    matched = matches[chosen].astype(np.float64)
    return together([Pairs(levels[chosen], matched, 1 - matched)])
