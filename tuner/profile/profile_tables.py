# SPDX-License-Identifier: Apache-2.0
"""Make the tables of a profile, which list the slowest rank's calls by kind and size."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence

from reprise.tuner.profile.process_report import ProcessReport
from reprise.tuner.profile.profile_values import Collective, Files, Input, Messages, MpiFiles, Threads
from reprise.tuner.profile.profiled_ranks import Rank, where

NS = 1e9
FILESYSTEMS = {
    0x6969: "nfs",
    0x0BD00BD0: "lustre",
    0x47504653: "gpfs",
    0x19830326: "beegfs",
    0x00C36400: "ceph",
    0x20030528: "orangefs",
    0x01021994: "tmpfs",
    0xEF53: "ext4",
    0x58465342: "xfs",
    0x9123683E: "btrfs",
    0x794C7630: "overlay",
    0x2FC12FC1: "zfs",
    0x65735546: "fuse",
    0xFF534D42: "cifs",
    0xFE534D42: "smb2",
    0x01021997: "9p",
    0x858458F6: "ramfs",
    0x958458F6: "hugetlbfs",
}  # f_type of statfs(2)


def upper(size_class: int) -> int:
    """Return the largest size in a size class, in bytes."""
    return (1 << size_class) - 1


def collectives(slowest: Rank, parallel: Sequence[ProcessReport], hosts: Mapping[int, str]) -> list[Collective]:
    """Return the slowest rank's collectives by kind, communicator and size class, in order of decreasing time."""
    members = {
        shape.id: shape.members for one in parallel if one.mpi for shape in one.mpi.shapes if shape.members is not None
    }
    sums: dict[tuple[str, int, int, int], list[float]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for one, waiting in zip(slowest.reports, slowest.waiting, strict=True):
        if one.mpi is None:
            continue
        shapes = {shape.shape: shape for shape in one.mpi.shapes}
        for calls in one.mpi.collectives:
            shape = shapes.get(calls.shape)
            group = list(hosts) if shape and shape.world else (members.get(shape.id) if shape else None) or []
            nodes = len({hosts[rank] for rank in group if rank in hosts})
            of = sums[calls.kind, shape.size if shape else 0, nodes, calls.size_class]
            of[0] += calls.calls
            of[1] += calls.bytes
            of[2] = max(of[2], calls.largest)
            of[3] += calls.ns
            of[4] += calls.ns * waiting.shares.get(calls.kind, 0.0)
    found = [
        Collective(
            kind=kind,
            ranks=ranks,
            nodes=nodes,
            bytes=upper(size_class),
            calls=int(calls),
            total_bytes=int(total),
            largest_bytes=int(largest),
            time_s=ns / NS,
            waiting_s=waited / NS,
        )
        for (kind, ranks, nodes, size_class), (calls, total, largest, ns, waited) in sums.items()
    ]
    return sorted(found, key=lambda one: (-one.time_s, one.kind, one.ranks, one.bytes))


def messages(slowest: Rank, hosts: Mapping[int, str]) -> list[Messages]:
    """Return the slowest rank's messages by location of the peer and size class, in order of decreasing time."""
    sums: dict[tuple[str, int], list[float]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for one, waiting in zip(slowest.reports, slowest.waiting, strict=True):
        for messages in one.mpi.messages if one.mpi else ():
            of = sums[where(messages.peer, one.host, hosts), messages.size_class]
            for at, value in enumerate((messages.calls, messages.sent, messages.bytes, messages.ns)):
                of[at] += value
            of[4] += messages.ns * waiting.shares.get("p2p", 0.0)
    found = [
        Messages(
            where=where,
            bytes=upper(size_class),
            calls=int(calls),
            sent=int(sent),
            total_bytes=int(total),
            time_s=ns / NS,
            waiting_s=waited / NS,
        )
        for (where, size_class), (calls, sent, total, ns, waited) in sums.items()
    ]
    return sorted(found, key=lambda one: (-one.time_s, one.where, one.bytes))


def files(reports: Sequence[ProcessReport]) -> list[Files]:
    """Return reads and writes by file system, size class and caller (MPI or not), in order of decreasing time."""
    sums: dict[tuple[str, str, int, bool], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for one in reports:
        for calls in one.files:
            name = FILESYSTEMS.get(calls.fs & 0xFFFFFFFF, f"{calls.fs & 0xFFFFFFFF:#x}")
            of = sums[calls.op, name, calls.size_class, calls.mpi]
            of[0 if calls.sequential else 1] += calls.calls
            of[2] += calls.bytes
            of[3] += calls.ns
    found = [
        Files(
            op=op,
            filesystem=name,
            bytes=upper(size_class),
            sequential_calls=sequential,
            other_calls=other,
            total_bytes=total,
            time_s=ns / NS,
            mpi=mpi,
        )
        for (op, name, size_class, mpi), (sequential, other, total, ns) in sums.items()
    ]
    return sorted(found, key=lambda one: (-one.time_s, one.op, one.filesystem, one.bytes, one.mpi))


def mpi_files(reports: Sequence[ProcessReport]) -> list[MpiFiles]:
    """Return MPI-IO calls by operation and size class, in order of decreasing time."""
    sums: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for one in reports:
        for calls in one.mpi.mpi_files if one.mpi else ():
            for at, value in enumerate((calls.calls, calls.bytes, calls.ns)):
                sums[calls.op, calls.size_class][at] += value
    found = [
        MpiFiles(
            op=op,
            bytes=upper(size_class),
            calls=calls,
            total_bytes=total,
            time_s=ns / NS,
        )
        for (op, size_class), (calls, total, ns) in sums.items()
    ]
    return sorted(found, key=lambda one: (-one.time_s, one.op, one.bytes))


def inputs(reports: Sequence[ProcessReport]) -> list[Input]:
    """Return the files that the job's processes read, in order of decreasing size.

    If processes found different sizes of a file, the largest size is returned.
    """
    sizes: dict[str, int] = {}
    for one in reports:
        for name, size in one.inputs:
            path = os.fsdecode(name.encode("latin-1"))
            sizes[path] = max(size, sizes.get(path, 0))
    return [Input(path=path, bytes=size) for path, size in sorted(sizes.items(), key=lambda one: (-one[1], one[0]))]


def meta(reports: Sequence[ProcessReport]) -> dict[str, tuple[int, float]]:
    """Return the number of calls and the seconds of each metadata operation, by name."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one in reports:
        for name, (calls, ns) in one.meta.items():
            sums[name][0] += calls
            sums[name][1] += ns
    return {name: (calls, ns / NS) for name, (calls, ns) in sums.items() if calls}


def threads(one: ProcessReport) -> Threads:
    """Return a description of a process's threads."""
    return Threads(
        most=one.threads,
        busy=one.cpu / one.wall if one.wall else 0.0,
        processors=one.processors,
        online=one.online,
        affinity=one.affinity,
        environment={name: value for name, value in one.environment.items() if name.startswith("OMP_")},
        libraries=one.libraries,
    )
