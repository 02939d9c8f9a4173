# SPDX-License-Identifier: Apache-2.0
"""Ranks of a job, each with its processes and the time for which it waited for other ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reprise.tuner.profile.process_report import MpiReport, ProcessReport
from reprise.tuner.profile.waiting import Waiting


def waiting_of(mpi: MpiReport, waiting: Waiting) -> float:
    """Return the nanoseconds for which a process waited for other ranks, in collectives and messages."""
    found = sum(calls.ns * waiting.shares.get(calls.kind, 0.0) for calls in mpi.collectives)
    return found + sum(calls.ns for calls in mpi.messages) * waiting.shares.get("p2p", 0.0)


@dataclass
class Rank:
    """Processes of one rank in all runs of the job's MPI programs; if `rank` is None, those of a task without MPI."""

    rank: int | None
    reports: list[ProcessReport] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)

    @property
    def waiting_ns(self) -> float:
        """Time for which the rank waited for other ranks, in nanoseconds."""
        return sum(
            waiting_of(one.mpi, waiting) for one, waiting in zip(self.reports, self.waiting, strict=True) if one.mpi
        )

    @property
    def wall_ns(self) -> int:
        """Sum of the run times of the rank's processes, in nanoseconds."""
        return sum(one.wall for one in self.reports)


def where(peer: int, host: str, hosts: Mapping[int, str]) -> str:
    """Return "onnode" if a peer is on the node `host`, "offnode" if it is on another node, otherwise "unknown"."""
    if peer not in hosts:
        return "unknown"
    return "onnode" if hosts[peer] == host else "offnode"
