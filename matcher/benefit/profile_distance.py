# SPDX-License-Identifier: Apache-2.0
"""How unlike two profiles are, and whether a job still behaves as its record says. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

OTHERWISE = 0.25
"""Distance from which on a job is taken to do something else than its record's application: a quarter of its run time
goes into other things."""
WAITING = "waiting"


class Profiled(Protocol):
    """What of a profile is compared: the shares of run time by name, and the share in which ranks waited."""

    @property
    def shares(self) -> Mapping[str, float]: ...

    @property
    def waiting(self) -> float: ...


@dataclass(frozen=True)
class Shares:
    """The least that is Profiled."""

    shares: Mapping[str, float]
    waiting: float


def distance(one: Profiled, other: Profiled) -> float:
    """The share of run time that the two spend on different things: 0, the same, to 1, nothing in common.

    Waiting counts as one more thing that time is spent on. The beginning of MPI is left out: it is long in short runs.
    """
    first, second = _spent(one), _spent(other)
    return sum(abs(first.get(name, 0.0) - second.get(name, 0.0)) for name in {*first, *second}) / 2


def behaves_otherwise(job: Profiled, record: Profiled) -> str:
    """In one line how a job differs from its record's profile; empty where it does not."""
    apart = distance(job, record)
    if apart < OTHERWISE:
        return ""
    first, second = _spent(job), _spent(record)
    name = max({*first, *second}, key=lambda name: (abs(first.get(name, 0.0) - second.get(name, 0.0)), name))
    return (
        f"this job behaves otherwise than its record: {apart:.0%} of its run time goes into other things, most of all "
        f"{name}: {first.get(name, 0.0):.0%} here, {second.get(name, 0.0):.0%} in the record's profile"
    )


def _spent(profile: Profiled) -> dict[str, float]:
    found = {name: share for name, share in profile.shares.items() if name != "mpi.begin"}
    found[WAITING] = profile.waiting
    total = sum(found.values())
    return {name: share / total for name, share in found.items()} if total > 0 else {}
