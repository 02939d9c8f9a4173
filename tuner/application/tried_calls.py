# SPDX-License-Identifier: Apache-2.0
"""The collective calls of a profile that rules are tried for. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from reprise.tuner.openmpi import catalogue
from reprise.tuner.profile.profile_values import Collective, Profile
from reprise.tuner.together.rules_ingredient import LARGEST, Calls

LEAST = 0.02
"""Share of the run time below which calls are left alone: a third of it would not be seen in a noise of 1 %."""
SMALL = 16384
"""Bytes up to which latency decides; from there on bandwidth does, and another algorithm is the best."""


def tried_calls(profile: Profile, known: Mapping[str, catalogue.Collective]) -> list[Calls]:
    """For each collective of `known` what of it all ranks spend time in, the most time first.

    Only communicators of all ranks count: a rule names their size, and what lies where in a smaller one is not known.
    Messages up to `SMALL` and over it are two things to try, but for collectives that have one rule for all sizes.
    """
    groups: dict[tuple[str, bool], list[Collective]] = defaultdict(list)
    for one in profile.collectives:
        if one.kind in known and one.ranks == profile.ranks and one.ranks > 1 and one.largest_bytes > 0:
            groups[one.kind, known[one.kind].one_rule or one.largest_bytes <= SMALL].append(one)
    shares = {key: _share(found, profile) for key, found in groups.items()}
    ranked = sorted(shares, key=lambda key: -shares[key])
    return [_calls(key[0], groups[key]) for key in ranked if shares[key] >= LEAST]


def _share(found: Sequence[Collective], profile: Profile) -> float:
    return sum(one.time_s - one.waiting_s for one in found) / profile.elapsed_s if profile.elapsed_s else 0.0


def _calls(kind: str, found: Sequence[Collective]) -> Calls:
    """From the smallest size class's beginning to the largest message, of which rules tell up to LARGEST apart."""
    low = (min(one.bytes for one in found) + 1) // 2
    high = max(one.largest_bytes for one in found)
    return Calls(collective=kind, low=min(low, LARGEST), high=min(high, LARGEST))
