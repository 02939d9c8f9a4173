# SPDX-License-Identifier: Apache-2.0
"""Pairs of jobs from users' own scripts, with labels that say whether both jobs belong to one application."""

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
"""Seeds of the sites, made from scripts, to which weights are fitted; the evaluation uses different seeds."""
SHARE = 0.2
"""Total weight of the matching pairs of scripts, as a share of the total weight of the matching made-up pairs."""
MOST = 3.0
"""Largest weight of a pair of scripts relative to a made-up pair; the limit applies if there are few pairs of
scripts."""
DOUBT = 0.35
"""Weight of a doubtful pair relative to a sure pair."""


@dataclass(frozen=True)
class ScriptPairs:
    """Pairs whose labels are certain (`sure`) and pairs whose labels are uncertain (`doubtful`).

    The scripts of a doubtful pair have the same owner and share a program, but have different labels. Some doubtful
    pairs belong to one application, but all of them are counted as pairs of two applications.
    """

    sure: Pairs
    doubtful: Pairs

    def beside(self, made_up: Pairs) -> ScriptPairs:
        """Return these pairs with the weight (SHARE, MOST) that they get if they are used with the pairs `made_up`."""
        weight = min(MOST, SHARE * made_up.matched.sum() / max(1.0, self.sure.matched.sum()))
        return ScriptPairs(self.sure.times(weight), self.doubtful.times(weight))

    def all(self) -> Pairs:
        """Return all pairs; the doubtful pairs have the weight DOUBT."""
        return together([self.sure, self.doubtful.times(DOUBT)])


def pairs(scripts: Sequence[LabelledScript], seeds: Sequence[int] = SEEDS) -> ScriptPairs:
    """Return the pairs of each query job and each record at one site; the sites are made from `scripts` with `seeds`.

    If two scripts of different owners may belong to one application despite different labels, their pair is omitted, so
    it counts neither as matching nor as not matching.

    At least one site must have a record and a query job; this is the case if two owners have labeled scripts.
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
