# SPDX-License-Identifier: Apache-2.0
"""Divide a rank's time into shares, named as in the `touches` of components."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from reprise.tuner.profile.process_report import ProcessReport
from reprise.tuner.profile.profile_values import COLLECTIVE, P2P, SMALL_CLASS
from reprise.tuner.profile.profiled_ranks import Rank, waiting_of, where
from reprise.tuner.profile.waiting import Waiting

OTHER_MPI = {
    "mpi.onesided": ("put", "get", "accumulate", *(f"win_{one}" for one in (
        "fence", "lock", "unlock", "flush", "flush_all", "complete", "wait"
    ))),
    "mpi.begin": ("init", "init_thread", "finalize"),
    "mpi.communicators": ("comm_dup", "comm_dup_with_info", "comm_create", "comm_split", "comm_split_type", "comm_free",
                          "cart_create", "cart_sub", "graph_create", "dist_graph_create", "dist_graph_create_adjacent",
                          "intercomm_merge"),
}  # fmt: skip


def own_ns(rank: Rank) -> float:
    """Return a rank's time without waiting, in nanoseconds; without MPI, its time of computation and file I/O."""
    if rank.rank is not None:
        return rank.wall_ns - rank.waiting_ns
    return sum(one.cpu + _io_ns(one) for one in rank.reports)


def _io_ns(one: ProcessReport) -> int:
    return sum(calls.ns for calls in one.files if not calls.mpi) + sum(ns for _, ns in one.meta.values())


def shares(slowest: Rank, alone: Sequence[ProcessReport], hosts: Mapping[int, str], elapsed: int) -> dict[str, float]:
    """Return the shares of the slowest rank's time, by name.

    The file I/O of `alone`, the processes without MPI, is added. `hosts`: the host of each rank. `elapsed`: the job's
    run time in nanoseconds.
    """
    spent: dict[str, float] = defaultdict(float)
    busy = 0.0
    for one, waiting in zip(slowest.reports, slowest.waiting, strict=True):
        own = _communication(one, waiting, hosts)
        for name, ns in [*own.items(), *_storage(one).items()]:
            spent[name] += ns
        waited = waiting_of(one.mpi, waiting) if one.mpi else 0.0
        left = (one.wall if one.mpi else one.cpu) - sum(own.values()) - waited
        left = max(0.0, left - (sum(_storage(one).values()) if one.mpi else 0))
        memory = min(left, one.system, one.minor_faults * one.fault)
        threads = min(left - memory, _threaded_ns(one))
        spent["memory"] += memory
        spent["threads"] += threads
        busy += left - memory - threads
    spent["compute"] += busy
    for one in alone:
        for name, ns in _storage(one).items():
            spent[name] += ns
    total = max(sum(spent.values()), float(elapsed))  # the times of concurrent processes can exceed the elapsed time
    return {name: ns / total for name, ns in spent.items()}


def _communication(one: ProcessReport, waiting: Waiting, hosts: Mapping[int, str]) -> dict[str, float]:
    """Return the nanoseconds spent in MPI, without waiting for other ranks, by name of a share of the profile."""
    spent: dict[str, float] = defaultdict(float)
    if one.mpi is None:
        return spent
    for calls in one.mpi.collectives:
        spent[f"{COLLECTIVE}.{calls.kind}"] += calls.ns * (1 - waiting.shares.get(calls.kind, 0.0))
    transfer = 1 - waiting.shares.get("p2p", 0.0)
    for messages in one.mpi.messages:
        spent[f"{P2P}.{where(messages.peer, one.host, hosts)}"] += messages.ns * transfer
    for files in one.mpi.mpi_files:
        spent[f"mpi.io.{files.op}"] += files.ns
    for name, kinds in OTHER_MPI.items():
        spent[name] += sum(one.mpi.kinds.get(kind, (0, 0))[1] for kind in kinds)
    return spent


def _storage(one: ProcessReport) -> dict[str, float]:
    """Return the nanoseconds spent in file I/O, without calls made by MPI-IO, by name of a share of the profile."""
    spent: dict[str, float] = defaultdict(float)
    for calls in one.files:
        if not calls.mpi:
            spent[f"io.{calls.op}.{'small' if calls.size_class <= SMALL_CLASS else 'large'}"] += calls.ns
    spent["io.meta"] += sum(ns for _, ns in one.meta.values())
    return spent


def _threaded_ns(one: ProcessReport) -> float:
    """Estimate the nanoseconds in which threads other than the first one computed.

    The threads that exist at the end are assumed to have computed at the same time, each on its own processor. If no
    such thread exists at the end, the number of threads is unknown, and an upper bound is returned.
    """
    at_once = max(1, min(one.threads - 1, one.processors))
    return min(one.wall, max(0, one.cpu - one.main_cpu) / at_once)
