# SPDX-License-Identifier: Apache-2.0
"""Collective calls in a profile for which rules are worth trying."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from reprise.tuner.openmpi import catalogue
from reprise.tuner.profile.profile_values import Collective, Profile
from reprise.tuner.together.rules_ingredient import LARGEST, Calls

LEAST = 0.02
"""Minimum share of the run time. A third of a smaller share is less than 1 %, and lost in noise of that size."""
SMALL = 16384
"""Largest message in bytes for which latency dominates. Other algorithms are best for larger messages."""


def tried_calls(profile: Profile, known: Mapping[str, catalogue.Collective]) -> list[Calls]:
    """Return the calls of `known` collectives that are worth rules, the most time-consuming first.

    Calls are worth rules if they take at least LEAST of the run time, not counting the time that ranks wait for others.

    Only calls on communicators of all ranks count. The best algorithm depends on the placement of a communicator's
    ranks on the nodes, which is unknown for a smaller communicator. Messages up to `SMALL` bytes and larger ones are
    separate entries, except for collectives that have one rule for all sizes.
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
    """Return the range of sizes of a collective's calls, from the smallest size class to the largest message.

    Both ends are at most LARGEST, because rules do not distinguish larger messages.
    """
    low = (min(one.bytes for one in found) + 1) // 2
    high = max(one.largest_bytes for one in found)
    return Calls(collective=kind, low=min(low, LARGEST), high=min(high, LARGEST))
