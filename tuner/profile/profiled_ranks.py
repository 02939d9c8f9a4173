# SPDX-License-Identifier: Apache-2.0
"""The ranks of a job, each with all its processes and with what it waited for others. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reprise.tuner.profile.process_report import MpiReport, ProcessReport
from reprise.tuner.profile.waiting import Waiting


def waiting_of(mpi: MpiReport, waiting: Waiting) -> float:
    found = sum(calls.ns * waiting.shares.get(calls.kind, 0.0) for calls in mpi.collectives)
    return found + sum(calls.ns for calls in mpi.messages) * waiting.shares.get("p2p", 0.0)


@dataclass
class Rank:
    """A rank in all runs of MPI programs of the job, or a process of no MPI program with its kin (`rank` None)."""

    rank: int | None
    reports: list[ProcessReport] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)

    @property
    def waiting_ns(self) -> float:
        return sum(
            waiting_of(one.mpi, waiting) for one, waiting in zip(self.reports, self.waiting, strict=True) if one.mpi
        )

    @property
    def wall_ns(self) -> int:
        return sum(one.wall for one in self.reports)


def where(peer: int, host: str, hosts: Mapping[int, str]) -> str:
    if peer not in hosts:
        return "unknown"
    return "onnode" if hosts[peer] == host else "offnode"
