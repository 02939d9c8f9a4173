# SPDX-License-Identifier: Apache-2.0
"""Judge which components are worth trying, by the share of a profile's run time that each can affect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reprise.tuner.model import touched_names
from reprise.tuner.profile.profile_values import COLLECTIVE, Profile

WORTH = 0.05
"""Minimum share of the run time that a component must affect to be worth trying.

The gain is smaller than this share, and a campaign cannot distinguish a gain of a few percent from noise.
"""
NOTHING = "nothing here can be tuned"
NOT_GIVEN = "the components worth trying cannot be used in this job, for the reasons above"


@dataclass(frozen=True)
class Touches:
    """Parts of a profile that a component can affect.

    `names`: names of shares in a profile. `libraries`: prefixes of library names. The component acts only on
    applications that have loaded a library with one of these prefixes, or on any program if `libraries` is empty.
    `of_all_ranks`: the component affects collectives only on communicators of all ranks.
    """

    names: Sequence[str]
    libraries: Sequence[str] = ()
    of_all_ranks: bool = False


@dataclass(frozen=True)
class Verdict:
    """Possible gain of a component.

    `share`: share of the run time that the component can affect, which is an upper bound on its gain. `names`: names of
    the parts of this share, largest first. `worth`: whether the component is worth trying. `known`: whether the
    component declares which parts it touches. `words`: the verdict as text.
    """

    component: str
    share: float
    names: Sequence[str]
    worth: bool
    known: bool
    words: str


def verdicts(profile: Profile, components: Mapping[str, Touches]) -> list[Verdict]:
    """Return a verdict for each component; those worth trying come first, in decreasing order of `Verdict.share`."""
    found = [_verdict(profile, name, touches) for name, touches in components.items()]
    return sorted(found, key=lambda one: (not one.worth, -one.share, not one.known, one.component))


def overall(found: Sequence[Verdict]) -> str:
    """Return one line that lists the components that are worth trying."""
    worth = [one.component for one in found if one.worth]
    return f"worth trying: {', '.join(worth)}" if worth else NOTHING


def _verdict(profile: Profile, component: str, touches: Touches) -> Verdict:
    if not touches.names:
        return Verdict(
            component, 0.0, (), False, False, "does not declare what it touches, so this profile cannot judge it"
        )
    holding = touched_names.that_hold(touches.names, ranks_share_nodes=profile.ranks_share_nodes)
    if not holding:
        return Verdict(component, 0.0, (), False, True, "has no effect if each task has a node to itself")
    shares = {
        name: share * (_part_of_all_ranks(profile, name) if touches.of_all_ranks else 1)
        for name, share in profile.shares.items()
        if any(touched_names.touches(one, name) for one in holding)
    }
    share = sum(shares.values())
    names = sorted(shares, key=lambda name: (-shares[name], name))
    if touches.libraries and not any(one.startswith(tuple(touches.libraries)) for one in profile.threads.libraries):
        words = f"acts on programs that load {' or '.join(touches.libraries)}, but none was loaded"
        return Verdict(component, 0.0, (), False, True, words)
    if share < WORTH:
        words = f"touches {share:.1%} of the run time: too little to be worth trying (below {WORTH:.0%})"
        return Verdict(component, share, names, False, True, words)
    parts = ", ".join(f"{name} {shares[name]:.1%}" for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return Verdict(
        component,
        share,
        names,
        True,
        True,
        f"touches {share:.1%} of the run time ({parts}{more}), so it gains less than that",
    )


def _part_of_all_ranks(profile: Profile, name: str) -> float:
    """Return the part (0 to 1) of a collective's share that calls on communicators of all ranks have."""
    own = {one: one.time_s - one.waiting_s for one in profile.collectives if f"{COLLECTIVE}.{one.kind}" == name}
    total = sum(own.values())
    return sum(s for one, s in own.items() if one.ranks == profile.ranks) / total if total > 0 else 1.0
