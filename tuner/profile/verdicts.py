# SPDX-License-Identifier: Apache-2.0
"""What each component could gain at most, by a profile: the share of the run time that it can touch. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reprise.tuner.model import touched_names
from reprise.tuner.profile.profile_values import Profile

WORTH = 0.05
"""Share of run time from which on a component is worth trying: the gain is smaller than the share, and a gain of some
per cent cannot be told from noise in the runs that a campaign can afford."""
NOTHING = "nothing here can be tuned"
NOT_GIVEN = "what is worth trying cannot be given to this job, for the reasons above"


@dataclass(frozen=True)
class Touches:
    """`names`: shares of a profile that a component acts on; `libraries`: beginnings of names, of which the application
    must have loaded one; none: it acts whatever is loaded."""

    names: Sequence[str]
    libraries: Sequence[str] = ()


@dataclass(frozen=True)
class Verdict:
    """What a component could gain.

    `share`: of the run time, that it can touch, and so the most it could gain, if all of that went away; `names`: what
    makes it up, largest first. `known`: the component says what it touches.
    """

    component: str
    share: float
    names: Sequence[str]
    worth: bool
    known: bool
    words: str


def verdicts(profile: Profile, components: Mapping[str, Touches]) -> list[Verdict]:
    """A verdict for each component, by name with what it touches; those worth trying first, largest share first."""
    found = [_verdict(profile, name, touches) for name, touches in components.items()]
    return sorted(found, key=lambda one: (not one.worth, -one.share, not one.known, one.component))


def overall(found: Sequence[Verdict]) -> str:
    """All verdicts in one line."""
    worth = [one.component for one in found if one.worth]
    return f"worth trying: {', '.join(worth)}" if worth else NOTHING


def _verdict(profile: Profile, component: str, touches: Touches) -> Verdict:
    if not touches.names:
        return Verdict(
            component, 0.0, (), False, False, "does not say what it touches, so this profile says nothing of it"
        )
    holding = touched_names.that_hold(touches.names, ranks_share_nodes=profile.ranks_share_nodes)
    if not holding:
        return Verdict(component, 0.0, (), False, True, "can change nothing where each task has a node to itself")
    shares = {
        name: share
        for name, share in profile.shares.items()
        if any(touched_names.touches(one, name) for one in holding)
    }
    share = sum(shares.values())
    names = sorted(shares, key=lambda name: (-shares[name], name))
    if touches.libraries and not any(one.startswith(tuple(touches.libraries)) for one in profile.threads.libraries):
        words = f"acts on programs that load {' or '.join(touches.libraries)}, and none was loaded"
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
        f"touches {share:.1%} of the run time ({parts}{more}), and gains less than that",
    )
