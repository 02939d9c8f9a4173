# SPDX-License-Identifier: Apache-2.0
"""Distance between two profiles, to find out whether a job behaves like the application of its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

OTHERWISE = 0.25
"""Distance at which a job counts as different from its record's application; 0.25 is a quarter of the run time."""
WAITING = "waiting"


class Profiled(Protocol):
    """The parts of a profile that are compared, namely shares of run time by name, and the share spent waiting."""

    @property
    def shares(self) -> Mapping[str, float]:
        """Shares of the run time by name."""

    @property
    def waiting(self) -> float:
        """Share of the run time in which ranks waited."""


@dataclass(frozen=True)
class Shares:
    """Implementation of Profiled that stores just the two values."""

    shares: Mapping[str, float]
    waiting: float


def distance(one: Profiled, other: Profiled) -> float:
    """Return the share of run time that two jobs spend differently, from 0 (equal) to 1 (nothing in common).

    Waiting counts as one of the shares. The start-up of MPI is ignored, because it is a large share of short runs.
    """
    first, second = _spent(one), _spent(other)
    return sum(abs(first.get(name, 0.0) - second.get(name, 0.0)) for name in {*first, *second}) / 2


def behaves_otherwise(job: Profiled, record: Profiled) -> str:
    """Return a line that describes how a job differs from its record's profile; "" if the difference is small."""
    apart = distance(job, record)
    if apart < OTHERWISE:
        return ""
    first, second = _spent(job), _spent(record)
    name = max({*first, *second}, key=lambda name: (abs(first.get(name, 0.0) - second.get(name, 0.0)), name))
    return (
        f"this job behaves differently from its record: {apart:.0%} of its run time is distributed differently; the "
        f"largest difference is {name} ({first.get(name, 0.0):.0%} here, {second.get(name, 0.0):.0%} in the record's "
        "profile)"
    )


def _spent(profile: Profiled) -> dict[str, float]:
    found = {name: share for name, share in profile.shares.items() if name != "mpi.begin"}
    found[WAITING] = profile.waiting
    total = sum(found.values())
    return {name: share / total for name, share in found.items()} if total > 0 else {}
